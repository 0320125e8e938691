// SPDX-License-Identifier: MIT
#include "capture/stack_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "unwind/unwind.h"
#include "walk/cut.h"

#define STACKS_MAX 64 /* that are not whole, at once */

struct part_stack {
	enum parts_ring ring;
	uint32_t tid;
	uint32_t count;		  /* of parts; 0: it is not in use */
	uint32_t followed;	  /* native frames, with those that are left out, */
	uint32_t python_followed; /* and Python's */
	uint64_t turn;		  /* when it was used last */
	struct vec(uint64_t) user;
	struct vec(struct walk_python_frame) python;
	struct vec(uint64_t) entries;
	struct bpf_raw_stack start; /* if there is memory */
	struct vec(uint8_t) memory; /* from start.sp on, nulls for pages that are absent */
	uint32_t pages;		    /* how many these are */
	uint64_t absent[UNWIND_PAGE_WORDS];
};

_Static_assert(BPF_RAW_PAGES_MAX <= 64 * UNWIND_PAGE_WORDS, "the walk knows of all pages");

struct stack_parts {
	struct part_stack stacks[STACKS_MAX];
	uint64_t turns;
};

struct stack_parts *stack_parts_new(void)
{
	return calloc(1, sizeof(struct stack_parts));
}

void stack_parts_free(struct stack_parts *p)
{
	for (size_t i = 0; p && i < STACKS_MAX; i++) {
		vec_release(&p->stacks[i].user);
		vec_release(&p->stacks[i].python);
		vec_release(&p->stacks[i].entries);
		vec_release(&p->stacks[i].memory);
	}
	free(p);
}

/* NULL: nothing came of it. */
static struct part_stack *find(struct stack_parts *p, enum parts_ring ring, uint32_t tid)
{
	for (size_t i = 0; i < STACKS_MAX; i++)
		if (p->stacks[i].count && p->stacks[i].ring == ring && p->stacks[i].tid == tid)
			return &p->stacks[i];
	return NULL;
}

/* The thread's, or one that is not in use, or the one that was used least recently. */
static struct part_stack *begin(struct stack_parts *p, enum parts_ring ring, uint32_t tid)
{
	struct part_stack *s = find(p, ring, tid), *oldest = &p->stacks[0];

	for (size_t i = 0; !s && i < STACKS_MAX; i++) {
		if (!p->stacks[i].count)
			s = &p->stacks[i];
		else if (p->stacks[i].turn < oldest->turn)
			oldest = &p->stacks[i];
	}
	s = s ?: oldest;
	s->ring = ring;
	s->tid = tid;
	s->count = s->followed = s->python_followed = 0;
	s->user.count = s->python.count = s->entries.count = s->memory.count = 0;
	s->pages = 0;
	return s;
}

/* Python's frames so far, and so the loops that they were in, are none. */
static void forget_python(struct part_stack *s)
{
	s->python.count = s->entries.count = s->python_followed = 0;
	vec_foreach (word, &s->user)
		*word = walk_is_cut(*word) ? WALK_FRAME_PYTHON : *word & ~WALK_FRAME_PYTHON;
}

static int append(struct part_stack *s, const struct raw_stack *part)
{
	int error = 0;

	if (s->followed + part->user_depth > WALK_FOLLOWED_MAX ||
		s->python_followed + part->python_depth > WALK_PYTHON_FOLLOWED_MAX ||
		s->entries.count + part->entry_count > WALK_PYTHON_ENTRIES_MAX)
		return -EPROTO;
	for (uint32_t i = 0; !error && i < part->user_depth; i++) {
		if (s->user.count == WALK_FRAMES_MAX)
			s->user.count = walk_cut(s->user.items);
		error = vec_push(&s->user, part->user[i]);
	}
	s->followed += part->user_depth;
	for (uint32_t i = 0; !error && i < part->python_depth; i++) {
		if (s->python.count == WALK_PYTHON_FRAMES_MAX)
			s->python.count = walk_python_cut(s->python.items);
		error = vec_push(&s->python, part->python[i]);
	}
	s->python_followed += part->python_depth;
	for (uint32_t i = 0; !error && i < part->entry_count; i++)
		error = vec_push(&s->entries, part->entries[i]);
	return error;
}

/* Adds one page, or what is left of it above sp: its copy, or NULL when it is absent. */
static int append_page(struct part_stack *s, const uint8_t *copy, size_t size)
{
	int error = vec_reserve(&s->memory, size);

	if (error)
		return error;
	if (copy)
		memcpy(s->memory.items + s->memory.count, copy, size);
	else
		memset(s->memory.items + s->memory.count, 0, size);
	if (!copy)
		s->absent[s->pages / 64] |= 1ull << s->pages % 64;
	s->memory.count += size;
	s->pages++;
	return 0;
}

static size_t page_size(const struct part_stack *s)
{
	return BPF_RAW_PAGE_BYTES - (s->pages ? 0 : s->start.sp % BPF_RAW_PAGE_BYTES);
}

/* Adds a piece of the stack's memory. */
static int append_piece(struct part_stack *s, const struct raw_stack *part)
{
	const uint32_t first = part->start->first;
	uint32_t pages = part->start->pages;
	size_t at = 0, size;
	int error = 0;

	if (!s->pages) {
		s->start = *part->start;
		memset(s->absent, 0, sizeof(s->absent));
	}
	if (first < s->pages || first > BPF_RAW_PAGES_MAX)
		return -EPROTO;
	while (!error && s->pages < first)
		error = append_page(s, NULL, page_size(s));
	for (; !error && pages; pages >>= 1) {
		size = page_size(s);
		if (s->pages >= BPF_RAW_PAGES_MAX || (pages & 1 && size > part->memory_size - at))
			return -EPROTO;
		error = append_page(s, pages & 1 ? part->memory + at : NULL, size);
		at += pages & 1 ? size : 0;
	}
	return error;
}

static int add(struct stack_parts *p, struct part_stack *s, const struct bpf_stack *head,
	const struct raw_stack *part)
{
	int error;

	if (head->python_void)
		forget_python(s);
	error = append(s, part);
	if (!error && part->start)
		error = append_piece(s, part);
	s->count = error ? 0 : s->count + 1;
	s->turn = ++p->turns;
	return error;
}

int stack_parts_add(struct stack_parts *p, enum parts_ring ring, uint32_t tid,
	const struct bpf_stack *s, const struct raw_stack *part)
{
	struct part_stack *stack = s->part ? find(p, ring, tid) : begin(p, ring, tid);

	if (!stack)
		return -EPROTO;
	if (stack->count == s->part)
		return add(p, stack, s, part);
	stack->count = 0;
	return -EPROTO;
}

int stack_parts_join(struct stack_parts *p, enum parts_ring ring, uint32_t tid,
	const struct bpf_stack *s, struct raw_stack *raw)
{
	struct part_stack *stack;
	int error;

	if (!s->part)
		return 0;
	error = stack_parts_add(p, ring, tid, s, raw);
	if (error)
		return error;
	stack = find(p, ring, tid);
	stack->count = 0;
	raw->user = stack->user.items;
	raw->user_depth = (uint32_t)stack->user.count;
	raw->python = stack->python.items;
	raw->python_depth = (uint32_t)stack->python.count;
	raw->entries = stack->entries.items;
	raw->entry_count = (uint32_t)stack->entries.count;
	if (stack->pages) {
		raw->start = &stack->start;
		raw->memory = stack->memory.items;
		raw->memory_size = stack->memory.count;
		raw->absent = stack->absent;
	}
	return 0;
}
