/* SPDX-License-Identifier: MIT */
/*
 * How many samples, launches, works and waits each stack has, and how whole these stacks are
 * (struct summary_stacks). Those of samples are in the summary's sums of samples, those of works in
 * sums by kind of work. Owned by the caller.
 */
#pragma once

#include "view/tables/summary.h"

enum stack_use { OF_LAUNCH, OF_WAIT, OF_WORK, OF_SAMPLE, STACK_USES };
#define STACK_USES_COUNTED OF_WORK /* those before it are counted here */

/* Additions to addresses all over memory are done in groups of this many, so that their loads
 * overlap. */
#define STACK_USES_WAITING 64

struct stack_uses {
	struct stack_counts {
		uint32_t *items;
		uint32_t count;		      /* stacks from here on have none */
		struct vec(uint32_t) carries; /* stacks that have 2^32 more, each */
		uint32_t waiting[STACK_USES_WAITING];
		size_t waiting_count;
	} counted[STACK_USES_COUNTED]; /* by stack */
	uint32_t *notes; /* by stack: of its root, if it is incomplete; once they are judged */
};

struct summary_stacks *stack_uses_of(struct summary *s, enum stack_use use);
/* Comes zeroed. */
void stack_uses_release(struct stack_uses *u);
/* One launch or wait more; of stack 0, too. 0 or -ENOMEM. */
int stack_uses_count(struct stack_uses *u, struct summary *s, enum stack_use use, uint32_t stack);
/* After the last event, with the internals of the summary: what was counted. 0 or -ENOMEM. */
int stack_uses_judge(struct stack_uses *u, struct summary *s);
/* Behind that: of works. 0 or -ENOMEM. */
int stack_uses_add_works(
	const struct stack_uses *u, struct summary *s, uint32_t stack, uint64_t works);
