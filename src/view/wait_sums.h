/* SPDX-License-Identifier: MIT */
/*
 * Where threads waited: the waits of a recording (record --off-cpu) added up by thread, reason, and the functions that led
 * there. Those of the profiler's own threads do not count.
 *
 * Memory is for the distinct triples of thread, reason and stack. Sums are exact, also where it is apportioned to which
 * stack of a place time belongs (profile_wait.others).
 */
#pragma once

#include <stdint.h>

#include "base/intern.h"
#include "base/vec.h"
#include "view/internals.h"

struct wait_sum {
	uint32_t thread;
	enum profile_wait_reason reason; /* why it went to sleep */
	uint32_t stack;			 /* one for all through the same functions; 0: not known */
	uint64_t count, total_ns;	 /* also of waits whose time others carry */
	uint64_t queued_ns;		 /* of it: it could have run, but no CPU was free */
	uint64_t max_ns;		 /* of waits that are told one by one; 0: there is none */
};

struct wait_sums {
	uint64_t total_ns; /* of all */
	uint64_t reason_ns[WAIT_REASONS]; /* of it; time in the run queue, however the wait began, is WAIT_RUN_QUEUE's */
	struct vec(struct wait_sum) rows; /* most time first */
	struct interner *ids;		  /* of rows, while events are added */
};

/* It comes zeroed. 0, -ENOMEM or -EOVERFLOW (times add up to more than 64 bits). */
int wait_sums_add(struct wait_sums *s, const struct profile_wait *w);
/* After the last event: puts rows together and sorts them. 0 or -ENOMEM. */
int wait_sums_finish(struct wait_sums *s, const struct internals *internals);
void wait_sums_release(struct wait_sums *s);
