/* SPDX-License-Identifier: MIT */
/*
 * The Python walk over the memory of another process: how interpreter.c checks what it found, and
 * how tests compare the walk with what Python itself says. The thread may run meanwhile; then the
 * frames may never have been on its stack at one time.
 */
#pragma once

#include "python/memory.h"
#include "walk/python.h"

struct python_stack {
	uint32_t depth;
	uint32_t entry_count;
	bool complete; /* the chain was followed to its end */
	struct walk_python_frame frames[WALK_PYTHON_FRAMES_MAX];
	uint64_t entries[WALK_PYTHON_ENTRIES_MAX]; /* of each group's loop on the stack, innermost
						      first */
};

/* The PyThreadState of the thread with this thread pointer, found as the walkers find it; 0: it has
 * none. */
uint64_t python_remote_state(
	const struct python_memory *m, const struct walk_python *p, uint64_t thread_pointer);
/* The frames of a PyThreadState. */
void python_remote_walk(struct python_stack *ret, const struct python_memory *m,
	const struct walk_python *p, uint64_t state);
