/* SPDX-License-Identifier: MIT */
/*
 * Samples that wait for an unwind table, with all that is needed to walk their stack later, or for
 * names of Python code or whether they begin where a thread does. Their memory and their waiting
 * time are bounded. Beginnings of waits (capture/waits.h) are among them.
 *
 * Each has copies of its words and a reference to the address space of its time. What needs the
 * process itself (to read names of Python frames) is asked for before. They are kept in the order
 * they came.
 */
#pragma once

#include "capture/stacks.h"
#include "profile/model.h"

#define PENDING_BYTES  ((size_t)128 << 20)
#define PENDING_AGE_NS (10 * NS_PER_SECOND)

struct pending_sample {
	struct profile_sample sample;
	uint64_t ticket; /* of the wait that the stack is for; 0: for the sample */
	uint32_t pid;
	uint32_t tid;	 /* of the wait */
	bool walks;	 /* it is to be walked again, and */
	uint32_t module; /* waits for the table of this one */
	/* What has the names of its Python frames, a reference; NULL: they are there */
	struct python_code *code;
	uint32_t *python_locations; /* of the stack, to be filled in then */
	uint64_t until_ns;
	struct address_space *space;
	struct raw_stack stack; /* its pointers are to what follows here */
	size_t bytes;
	struct walk_range loops[WALK_LOOP_RANGES];
	uint64_t words[];
};

struct pending {
	struct vec(struct pending_sample *) samples;
	size_t bytes;
};

/* Drops what is left. */
void pending_release(struct pending *p);
/* Copies a stack, of a process whose address space is `space` now. NULL: no room for it. */
struct pending_sample *pending_add(
	struct pending *p, const struct raw_stack *stack, struct address_space *space);
/* Calls `look` for each; those for which it sets *ret_done are dropped. Ends at the first error (<
 * 0), and returns it. */
int pending_each(struct pending *p,
	int (*look)(void *context, struct pending_sample *s, bool *ret_done), void *context);
