/* SPDX-License-Identifier: MIT */
/*
 * Reads the stacks of threads that sleep out of the memory of their process: the machine's, from
 * the stack pointer on, and Python's frames. Nothing is kept here, as it runs in a process of its
 * own (memory.h):
 *
 *	request  struct sleepers_request, then for each thread a struct sleeper_place
 *	reply    for each, in their order, struct sleeper_found, the bytes of its stack, its Python
 *	         frames and the entries of its evaluation loops
 *
 * A reply that becomes too long ends early; what is not in it is asked for again. Whoever asks has
 * to know by other means that the threads slept until the reply came.
 */
#pragma once

#include "base/buf.h"
#include "python/memory.h"
#include "walk/python.h"

#define SLEEPERS_MAX	    64			/* of a request */
#define SLEEPERS_BYTES	    ((size_t)4 << 20)	/* a reply that has so many ends */
#define SLEEPER_STACK_BYTES ((uint64_t)1 << 20) /* of a thread */

struct sleepers_request {
	uint32_t count;
	uint32_t has_python; /* they may run this: */
	struct walk_python python;
};

struct sleeper_place {
	uint64_t sp;
	uint64_t end; /* no frame is there, or higher up */
	uint64_t thread_pointer;
};

struct sleeper_found {
	uint32_t stack_bytes; /* a multiple of 8, as far as the stack can be read */
	uint32_t python_depth;
	uint32_t entry_count;
	uint32_t python_incomplete;
};

/* Appends the reply: 0, -EINVAL or -ENOMEM. */
int sleepers_read(
	const struct python_memory *m, const void *request, size_t size, struct buf *reply);

/* A thread in a reply, which it points into. */
struct sleeper_stack {
	const uint8_t *memory;
	size_t memory_size;
	const struct walk_python_frame *python;
	const uint64_t *entries;
	uint32_t python_depth;
	uint32_t entry_count;
	bool python_incomplete;
};

/* The one at *at, which is then behind it; false: there is none, or it makes no sense. */
bool sleepers_next(const void *reply, size_t size, size_t *at, struct sleeper_stack *ret);
