/* SPDX-License-Identifier: MIT */
/*
 * Stacks that the kernel sends in parts (bpf/events.h), put together.
 *
 * The parts of a stack come from one ring, in their order, and others between them. Those of a
 * stack whose last record never comes are dropped with the thread's next one, or to make room.
 */
#pragma once

#include "capture/stacks.h"

enum parts_ring { PARTS_SAMPLES, PARTS_LAUNCHES, PARTS_WAITS };

struct stack_parts;

struct stack_parts *stack_parts_new(void); /* NULL: no memory */
void stack_parts_free(struct stack_parts *p);

/* The next part of a thread's stack: 0, -EPROTO when one before it is missing, or -ENOMEM. */
int stack_parts_add(struct stack_parts *p, enum parts_ring ring, uint32_t tid,
	const struct bpf_stack *s, const struct raw_stack *part);
/* Puts what came before `raw` in front of it, which may be a whole stack. It is valid until the
 * next call. 0, or as above. */
int stack_parts_join(struct stack_parts *p, enum parts_ring ring, uint32_t tid,
	const struct bpf_stack *s, struct raw_stack *raw);
