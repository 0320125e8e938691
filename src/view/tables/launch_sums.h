/* SPDX-License-Identifier: MIT */
/*
 * GPU work of one kind by the stack that asked for it: as many sums as there are stacks, and some
 * that are still to be merged. Most kinds of work come from few stacks, and some recordings have
 * millions. A new sum is written behind the others, so the work of many kinds that come in turn
 * touches little memory. Owned by the caller.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

#define LAUNCH_SUM_NS_BITS 44
#define LAUNCH_SUM_NS_MAX  (((uint64_t)1 << LAUNCH_SUM_NS_BITS) - 1)

/* What does not fit is in a long sum of the same stack. */
struct __attribute__((packed, aligned(4))) launch_sum {
	uint32_t stack;
	uint64_t ns : LAUNCH_SUM_NS_BITS;
	uint64_t works : 64 - LAUNCH_SUM_NS_BITS;
};

struct launch_sum_long {
	uint32_t stack;
	uint64_t ns, works;
};

struct launch_sums {
	struct launch_sum *items;
	size_t count, capacity;
	size_t merged; /* when they were last: as many were left */
	/* Each of so long a time or large a number that there are few; of one stack there may be
	 * several. Each stack has a sum among the others, too. */
	struct vec(struct launch_sum_long) longs;
};

/* What sums are merged with: one for all of them. Comes zeroed. */
struct launch_sums_index {
	uint32_t *slots;
	size_t capacity;
};

void launch_sums_release(struct launch_sums *s);
void launch_sums_index_release(struct launch_sums_index *x);
/* All: 0 or -ENOMEM. */
int launch_sums_add(struct launch_sums *s, struct launch_sums_index *x, uint32_t stack, uint64_t ns,
	uint64_t works);
/* One sum of each stack is left, in the order of their first sums, and of the long ones too, by
 * stack. */
int launch_sums_merge(struct launch_sums *s, struct launch_sums_index *x);
