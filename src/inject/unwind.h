/* SPDX-License-Identifier: MIT */
/*
 * The walker of walk/ in the program's own thread: its stack from a frame outwards, and Python's frames.
 *
 * It reads no memory but the unwind tables, the thread's own stack between that frame and the stack's end, and
 * (from an interpreter whose layout the recorder has checked in this process) the present thread's Python
 * frames, which cannot go while the thread is in a call. No locks, no allocation, and no system call, unless the
 * stack's end is not known: then the kernel is asked for each word of it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "walk/frame.h"

struct unwound {
	uint32_t user_depth;
	uint32_t python_depth;
	uint32_t walk_end; /* enum walk_end */
	uint32_t generation; /* of the recorder's list of mappings */
	bool python_incomplete;
	/* The native frames, and behind them the Python ones in two words each. */
	uint64_t words[WALK_FRAMES_MAX + 2 * WALK_PYTHON_FRAMES_MAX];
};

static inline uint32_t unwound_words(const struct unwound *u)
{
	return u->user_depth + 2 * u->python_depth;
}

/* The stack from the caller of the function with this frame (__builtin_frame_address) outwards, in the stack that ends
 * at `end` (0: it is not known where). */
void unwind_stack(uintptr_t frame, uintptr_t end, struct unwound *ret);
