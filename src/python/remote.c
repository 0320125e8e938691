// SPDX-License-Identifier: MIT
#include "python/remote.h"

#include <string.h>

#define WALK_INLINE static inline
#include "walk/python_walk.h"

struct remote_walk {
	struct walk_python_stack stack; /* first: the walk knows only this */
	const struct python_memory *memory;
	uint64_t state;
};

static bool walk_python_home_state(
	struct walk_python_stack *s, const struct walk_python *p, uint64_t *ret)
{
	*ret = ((struct remote_walk *)s)->state;
	return *ret != 0;
}

static bool walk_python_home_read(
	struct walk_python_stack *s, uint64_t address, void *ret, uint32_t size)
{
	return size < sizeof(s->words) &&
	       python_read(((struct remote_walk *)s)->memory, address, ret, size);
}

uint64_t python_remote_state(
	const struct python_memory *m, const struct walk_python *p, uint64_t thread_pointer)
{
	struct remote_walk walk = {.memory = m};
	uint64_t state;

	return walk_python_state_of(&walk.stack, p, thread_pointer, &state) ? state : 0;
}

void python_remote_walk(struct python_stack *ret, const struct python_memory *m,
	const struct walk_python *p, uint64_t state)
{
	struct remote_walk walk = {.memory = m, .state = state};

	walk_python(&walk.stack, p);
	ret->depth = walk.stack.depth;
	ret->entry_count = walk.stack.entry_count;
	ret->complete = walk.stack.complete;
	memcpy(ret->frames, walk.stack.frames, sizeof(ret->frames));
	memcpy(ret->entries, walk.stack.entries, sizeof(ret->entries));
}
