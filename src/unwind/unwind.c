// SPDX-License-Identifier: MIT
/* Only the part of the stack that was copied can be read; a walk that leaves it ends there. */
#include "unwind/unwind.h"

#include <string.h>

#define WALK_INLINE static inline
#define WALK_HOME_REGISTERS
#include "walk/walk.h"

struct home {
	struct walk walk;
	const struct unwind_start *start;
};

static bool walk_home_mapping(struct walk *w, uint32_t i, struct walk_mapping *ret)
{
	const struct unwind_start *start = ((struct home *)w)->start;

	if (i >= start->mapping_count)
		return false;
	*ret = start->mappings[i];
	return true;
}

static bool walk_home_words(struct walk *w, uint32_t at, uint32_t *ret, uint32_t count)
{
	const struct unwind_start *start = ((struct home *)w)->start;

	if (at >= start->word_count || count > start->word_count - at)
		return false;
	memcpy(ret, start->words + at, count * sizeof(*ret));
	return true;
}

static bool walk_home_read(struct walk *w, uint64_t address, uint64_t *ret)
{
	const struct unwind_start *start = ((struct home *)w)->start;
	uint64_t place = address - start->sp;

	if (start->stack_size < sizeof(*ret) || place > start->stack_size - sizeof(*ret))
		return false;
	memcpy(ret, start->stack + place, sizeof(*ret));
	return true;
}

static bool walk_home_register(struct walk *w, uint32_t number, uint64_t *ret)
{
	const struct unwind_start *start = ((struct home *)w)->start;

	if (!start->registers || number >= start->register_count)
		return false;
	*ret = start->registers[number];
	return true;
}

uint32_t unwind_walk(const struct unwind_start *start, uint64_t *frames, enum walk_end *ret_end)
{
	struct home home = {
		.walk = {.pc = start->pc,
			.sp = start->sp,
			.fp = start->fp,
			.lr = start->lr,
			.exact = start->exact,
			.mapping_count = start->mapping_count},
		.start = start,
	};
	struct walk *w = &home.walk;
	uint32_t depth = 0, entry = 0;
	bool more = true;

	memcpy(w->loops, start->loops, sizeof(w->loops));
	w->end = WALK_DEPTH;
	while (more && depth < WALK_FRAMES_MAX) {
		if (!w->entry && entry < start->entry_count)
			w->entry = start->entries[entry++];
		more = walk_step(w, &frames[depth++]);
	}
	*ret_end = w->end;
	return depth;
}
