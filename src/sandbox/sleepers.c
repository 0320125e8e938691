// SPDX-License-Identifier: MIT
#include "sandbox/sleepers.h"

#include <errno.h>
#include <string.h>

#include "python/remote.h"

#define PAGE_BYTES 4096

/* Appends the stack up to the first page that cannot be read; how much that is. */
static uint32_t append_stack(
	const struct python_memory *m, const struct sleeper_place *place, struct buf *reply)
{
	uint8_t page[PAGE_BYTES];
	uint64_t bytes = place->end > place->sp ? (place->end - place->sp) & ~7ull : 0, at = 0;

	if (bytes > SLEEPER_STACK_BYTES)
		bytes = SLEEPER_STACK_BYTES;
	while (at < bytes) {
		uint64_t address = place->sp + at, size = PAGE_BYTES - address % PAGE_BYTES;

		if (size > bytes - at)
			size = bytes - at;
		if (!python_read(m, address, page, size))
			break;
		buf_append(reply, page, size);
		at += size;
	}
	if (!reply->failed)
		reply->size -= at % 8;
	return (uint32_t)(at & ~7ull);
}

static void append_python(const struct python_memory *m, const struct walk_python *python,
	uint64_t thread_pointer, struct sleeper_found *found, struct buf *reply)
{
	static struct python_stack stack; /* large; one thread */
	uint64_t state = python_remote_state(m, python, thread_pointer);

	if (!state)
		return;
	python_remote_walk(&stack, m, python, state);
	found->python_depth = stack.depth;
	found->entry_count = stack.entry_count;
	found->python_incomplete = !stack.complete;
	buf_append(reply, stack.frames, stack.depth * sizeof(*stack.frames));
	buf_append(reply, stack.entries, stack.entry_count * sizeof(*stack.entries));
}

static void append_thread(const struct python_memory *m, const struct sleepers_request *r,
	const struct sleeper_place *place, struct buf *reply)
{
	struct sleeper_found found = {0};
	size_t head = reply->size;

	buf_append(reply, &found, sizeof(found));
	found.stack_bytes = append_stack(m, place, reply);
	if (r->has_python)
		append_python(m, &r->python, place->thread_pointer, &found, reply);
	if (!reply->failed)
		memcpy(reply->data + head, &found, sizeof(found));
}

int sleepers_read(
	const struct python_memory *m, const void *request, size_t size, struct buf *reply)
{
	const struct sleeper_place *places =
		(const void *)((const char *)request + sizeof(struct sleepers_request));
	struct sleepers_request r;
	struct sleeper_place place;

	if (size < sizeof(r))
		return -EINVAL;
	memcpy(&r, request, sizeof(r));
	if (!r.count || r.count > SLEEPERS_MAX || size - sizeof(r) != r.count * sizeof(place))
		return -EINVAL;
	for (uint32_t i = 0; i < r.count && reply->size < SLEEPERS_BYTES; i++) {
		memcpy(&place, places + i, sizeof(place));
		append_thread(m, &r, &place, reply);
	}
	return reply->failed ? -ENOMEM : 0;
}

bool sleepers_next(const void *reply, size_t size, size_t *at, struct sleeper_stack *ret)
{
	const char *from = (const char *)reply + *at;
	struct sleeper_found f;
	size_t python_bytes, entry_bytes;

	if (size - *at < sizeof(f))
		return false;
	memcpy(&f, from, sizeof(f));
	if (f.stack_bytes % 8 || f.stack_bytes > SLEEPER_STACK_BYTES ||
		f.python_depth > WALK_PYTHON_FRAMES_MAX || f.entry_count > WALK_PYTHON_ENTRIES_MAX)
		return false;
	python_bytes = f.python_depth * sizeof(*ret->python);
	entry_bytes = f.entry_count * sizeof(*ret->entries);
	if (size - *at - sizeof(f) < f.stack_bytes + python_bytes + entry_bytes)
		return false;
	from += sizeof(f);
	*ret = (struct sleeper_stack){.memory = (const uint8_t *)from,
		.memory_size = f.stack_bytes,
		.python = (const void *)(from + f.stack_bytes),
		.entries = (const void *)(from + f.stack_bytes + python_bytes),
		.python_depth = f.python_depth,
		.entry_count = f.entry_count,
		.python_incomplete = f.python_incomplete};
	*at += sizeof(f) + f.stack_bytes + python_bytes + entry_bytes;
	return true;
}
