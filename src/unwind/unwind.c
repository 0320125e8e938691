// SPDX-License-Identifier: MIT
/*
 * Only the copied part of the stack can be read; a walk that leaves it ends there. Nor are callers
 * guessed then: they are on the part that was not copied.
 */
#include "unwind/unwind.h"

#include <string.h>

#define PAGE_BYTES 4096

#define WALK_INLINE static inline
#define WALK_HOME_REGISTERS
#define WALK_HOME_CODE
#include "walk/cut.h"
#include "walk/walk.h"

#define CODE_READ_WORDS 3 /* a look at code is a system call, and costs as many words more */

struct home {
	struct walk walk;
	const struct unwind_start *start;
	uint64_t unread; /* the latest address that was not copied */
	bool guessing;
};

static bool walk_home_mapping(struct walk *w, uint64_t address, struct walk_mapping *ret)
{
	const struct unwind_start *start = ((struct home *)w)->start;

	return walk_search_mappings(start->mappings, start->mapping_count, address, ret);
}

static bool walk_home_words(struct walk *w, uint32_t at, uint32_t *ret, uint32_t count)
{
	const struct unwind_start *start = ((struct home *)w)->start;

	if (at >= start->word_count || count > start->word_count - at)
		return false;
	memcpy(ret, start->words + at, count * sizeof(*ret));
	return true;
}

/* Whether the byte of the stack was copied. */
static bool is_there(const struct unwind_start *start, uint64_t address)
{
	uint64_t page = address / PAGE_BYTES - start->sp / PAGE_BYTES;

	return address >= start->sp && address - start->sp < start->stack_size &&
	       (!start->absent || page / 64 >= UNWIND_PAGE_WORDS ||
		       !(start->absent[page / 64] >> page % 64 & 1));
}

static bool walk_home_read(struct walk *w, uint64_t address, uint64_t *ret)
{
	const struct unwind_start *start = ((struct home *)w)->start;

	if (!is_there(start, address) || !is_there(start, address + sizeof(*ret) - 1)) {
		((struct home *)w)->unread = address;
		return false;
	}
	memcpy(ret, start->stack + (address - start->sp), sizeof(*ret));
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

static bool walk_home_code(struct walk *w, uint64_t address, uint64_t *ret)
{
	struct home *home = (struct home *)w;
	struct walk_mapping mapping;

	if (home->guessing && !walk_home_mapping(w, address, &mapping))
		return false;
	w->guess_left -= w->guess_left < CODE_READ_WORDS ? w->guess_left : CODE_READ_WORDS;
	return home->start->read_code(home->start->pid, address, ret);
}

/* Whether the walk ended where the copy does, or may. */
static bool left_the_copy(const struct home *home)
{
	return home->walk.end == WALK_FAULT &&
	       home->unread - home->start->sp < home->start->stack_size + WALK_GUESS_FRAME_MAX;
}

/* Looks for the caller of the latest of *depth frames, which nothing else shows. */
static bool guess(struct home *home, uint32_t *depth)
{
	struct walk *w = &home->walk;
	bool drop, found = false;

	if (!walk_may_guess(w) || left_the_copy(home) || !walk_begin_guess(w, &drop))
		return false;
	if (drop && *depth)
		(*depth)--;
	home->guessing = true;
	while (!found && w->guess_left)
		found = walk_guess(w);
	home->guessing = false;
	return found;
}

static void add_loop(struct unwind_loops *loops, const struct walk *w)
{
	if (loops && loops->count < WALK_FRAMES_MAX)
		loops->items[loops->count++] = (struct unwind_loop){w->callee_sp, w->sp};
}

uint32_t unwind_walk(const struct unwind_start *start, uint64_t *frames, enum walk_end *ret_end)
{
	struct home home = {
		.walk = {.pc = start->pc,
			.sp = start->sp,
			.fp = start->fp,
			.lr = start->lr,
			.exact = start->exact,
			.guess_left = start->read_code ? WALK_GUESS_WORDS : 0},
		.start = start,
	};
	struct walk *w = &home.walk;
	uint32_t depth = 0, followed = 0, entry = 0;
	bool more = true;

	memcpy(w->loops, start->loops, sizeof(w->loops));
	w->end = WALK_DEPTH;
	while (more && followed++ < WALK_FOLLOWED_MAX) {
		if (depth == WALK_FRAMES_MAX)
			depth = walk_cut(frames);
		if (!w->entry && entry < start->entry_count)
			w->entry = start->entries[entry++];
		more = walk_step(w, &frames[depth]);
		if (more && frames[depth] & WALK_FRAME_PYTHON)
			add_loop(start->found_loops, w);
		depth++;
		more = more || guess(&home, &depth);
	}
	*ret_end = w->end;
	return depth;
}
