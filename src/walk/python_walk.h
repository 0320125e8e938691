/* SPDX-License-Identifier: MIT */
/*
 * The walk over Python's frames. One text for the BPF programs, the recorder and the injected library, as walk.h; a
 * home defines WALK_INLINE and the two functions below before it includes this file.
 */
#pragma once

#include "walk/python.h"

/* What a walk found. */
struct walk_python_stack {
	uint32_t depth;
	uint32_t entry_count;
	uint32_t complete; /* the chain was followed to its end */
	struct walk_python_frame frames[WALK_PYTHON_FRAMES_MAX];
	uint64_t entries[WALK_PYTHON_ENTRIES_MAX]; /* of each group's loop on the stack, innermost first */
};

/* The present thread's PyThreadState, whether it holds the GIL or not; false: it has none. */
static bool walk_python_home_state(struct walk_python_stack *s, const struct walk_python *p, uint64_t *ret);
/* Copies 8, 16, 32 or 64 bytes of the program's memory; false: they cannot be read. */
static bool walk_python_home_read(struct walk_python_stack *s, uint64_t address, void *ret, uint32_t size);
