/* SPDX-License-Identifier: MIT */
/*
 * The walker of walk/ in the program's own thread: its stack from a frame outwards, and Python's
 * frames.
 *
 * It reads the unwind tables, the thread's own stack between that frame and the stack's end, and
 * (of an interpreter whose layout the recorder has checked in this process) the present thread's
 * Python frames, which stay while the thread is in a call. It reads no other memory. No locks, no
 * allocation, and no system call, unless the stack's end is unknown: then it asks the kernel for
 * each word of the stack.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "walk/python.h"

#define UNWOUND_BASES WALK_FRAMES_MAX

struct unwound {
	uintptr_t frame;		       /* where the walk began */
	const struct walk_python *interpreter; /* NULL: none */
	uint32_t user_depth;
	uint32_t walk_end;   /* enum walk_end */
	uint32_t generation; /* of the recorder's list of mappings */
	uint32_t base_count;
	bool repeatable;    /* the words noted below are all that the native walk read */
	bool python_walked; /* `python` has its frames; before, it stands at the innermost one */
	/* Pointers into the stack that frames were found by: where they were, and what, less
	 * `frame`. */
	uint16_t base_slots[UNWOUND_BASES];
	uint64_t bases[UNWOUND_BASES];
	/* Where the address of each native frame was, counted in words from `frame`. */
	uint16_t slots[WALK_FRAMES_MAX];
	/* The native frames, and behind them the Python ones in two words each. */
	uint64_t words[WALK_FRAMES_MAX + 2 * WALK_PYTHON_FRAMES_MAX];
	struct walk_python_stack python;
};

static inline uint32_t unwound_words(const struct unwound *u)
{
	return u->user_depth + 2 * u->python.depth;
}

/* Begins with the caller of the function with this frame (__builtin_frame_address), outwards: finds
 * the present thread's Python frames, if it has any. */
void unwind_begin(struct unwound *ret, uintptr_t frame);
/* Whether these are the thread's Python frames, and its loops are at `entries` (less the frame). */
bool unwind_has_python(const struct unwound *u, const struct walk_python_frame *frames,
	uint32_t depth, const uint64_t *entries, uint32_t entry_count);
/* Walks, in the stack that ends at `end` (0: unknown). */
void unwind_stack(struct unwound *ret, uintptr_t end);
