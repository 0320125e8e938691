/* SPDX-License-Identifier: MIT */
/*
 * What a recording adds up to, by stack and by thread, device, stream and reason: for formats that
 * have several numbers for one stack, and labels. The numbers are those of the views: time of a
 * thread's samples and of GPU work (view/flame.h), waits (view/waits/off_cpu.h), samples of
 * instructions (view/stalls/stalls.h).
 *
 * Memory is for distinct sums, not for events. One thread at a time.
 */
#pragma once

#include "view/fold/event_nodes.h"
#include "view/stalls/stalls.h"

enum cost_kind {
	COST_CPU = 0, /* nanoseconds, the next two as well */
	COST_OFF_CPU,
	COST_GPU,
	COST_STALLS, /* instruction samples */
	COSTS
};

struct cost {
	enum cost_kind kind;
	uint64_t value;	    /* not 0 */
	uint32_t node;	    /* of the tree */
	uint32_t thread;    /* 0: not known */
	uint32_t op;	    /* of the GPU; 0: none */
	const char *reason; /* why a thread or an instruction waited; NULL: it did not */
};

struct costs {
	const struct profile_reader *reader;
	struct view_options keyed, shown; /* what sums are kept by, what a path looks like */
	unsigned int kinds;		  /* bits of cost_kind */
	struct gather sums;
	struct gather_waiting waiting; /* while they are read */
	struct stalls stalls;
	struct tree *tree; /* of the paths */
};

/*
 * Reads all events. `kinds` are the bits of the costs that are wanted. The options say what a path
 * looks like; they may be gone afterwards. 0 or -errno with error_text; release it in either case.
 */
int costs_read(struct costs *c, struct profile_reader *r, const struct view_options *o,
	unsigned int kinds);
/* Hands out each cost, once; its node is in c->tree. 0 or -errno with error_text, that of `handle`
 * as well. */
int costs_each(struct costs *c, int (*handle)(void *arg, const struct cost *cost), void *arg);
void costs_release(struct costs *c);
