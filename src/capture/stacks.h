/* SPDX-License-Identifier: MIT */
/*
 * Turns raw addresses into stacks of the profile.
 *
 * Nearly every stack was seen before, so whole stacks are remembered: by the addresses and the
 * generation of the address space they were taken in. A hit costs a hash and a comparison of all
 * addresses (a stack is never taken for another because of an equal hash); a miss resolves frame by
 * frame. The memory of the cache is bounded; what falls out is resolved again.
 *
 * A user stack that does not reach its root (roots.h) begins with the note "[incomplete stack]". An
 * address at the outer end that lies in no mapping is where the walk went astray, and is cut off;
 * one elsewhere becomes the note "[unknown]". Frames of the measurement itself at the leaf end of a
 * launch (our library, CUPTI) are left out.
 */
#pragma once

#include "bpf/events.h"
#include "capture/processes.h"
#include "walk/frame.h"

/* A stack as it was taken (walk/frame.h), leaf first in all its parts. */
struct raw_stack {
	const uint64_t *kernel;
	const uint64_t *user; /* with WALK_FRAME_ bits */
	const struct walk_python_frame *python;
	uint32_t kernel_depth;
	uint32_t user_depth;
	uint32_t python_depth;
	bool python_incomplete; /* Python's chain was not followed to its end */
	bool launch;            /* it begins with frames of the measurement itself */
	enum walk_end walk_end;
	uint32_t space; /* the mappings it was walked by: bpf_space.generation; 0: none */
	/* What a walk can be begun with again, kept when the tables were not ready: */
	uint32_t entry_count;
	const uint64_t *entries; /* of Python's loops on the stack, innermost first */
	const struct bpf_raw_stack *start; /* NULL: nothing was kept */
	const uint8_t *memory;             /* from start->sp on */
	size_t memory_size;
};

struct stacks;

int stacks_new(struct stacks **ret, struct profile_writer *w, struct modules *modules,
	struct processes *processes);
void stacks_free(struct stacks *s);
/* The stack's id (0: it has no frames) and whether its user side is incomplete. `process` may be
 * NULL for stacks without a user side. 0 or -errno with error_text. */
int stacks_intern(struct stacks *s, struct process *process, const struct raw_stack *raw,
	uint32_t *ret_stack, bool *ret_incomplete);
