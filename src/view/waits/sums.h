/* SPDX-License-Identifier: MIT */
/*
 * Where threads waited: the waits of a recording (record --off-cpu) added up by thread, reason, and
 * the functions that led there. Those of the profiler's own threads do not count.
 *
 * Memory is for the distinct quadruples of thread, reason, stack, and the thread that ended the
 * wait. Sums are exact; only to which stack of a call site the time of others belongs is
 * apportioned (profile_wait.others).
 *
 * The thread that ended a wait (its waker) is recorded if the wait is `watched`: it is for a lock
 * or a process, and has a stack of its own. The waker must be a recorded thread that ended the wait
 * in a call of that kind, or by its own end. So a watched wait without a waker was ended by a
 * timeout, a signal or a thread that is not recorded, or had not ended.
 */
#pragma once

#include <stdint.h>

#include "base/intern.h"
#include "base/vec.h"
#include "view/names/internals.h"
#include "view/waits/meanwhile.h"
#include "view/waits/shares.h"

#define WAIT_SUMS_RECENT 256

struct wait_sum {
	uint32_t thread;
	enum profile_wait_reason reason; /* why it went to sleep */
	uint32_t stack;			 /* one for all through the same functions; 0: not known */
	uint64_t count, total_ns;	 /* also of waits whose time others carry */
	uint64_t queued_ns;		 /* of it: it could have run, but no CPU was free */
	uint64_t max_ns;		 /* of waits recorded one by one; 0: there is none */
	uint64_t watched, watched_ns;	 /* of these: a waker was looked for */
	/* of watched_ns: what their wakers did meanwhile was looked at */
	uint64_t followed_ns;
	uint32_t waker; /* only while events are added: a part of the row's key */
	/* in wakers, whose times add up to watched_ns, and in doings: followed_ns at most */
	uint32_t number;
};

struct wait_sums {
	uint64_t total_ns; /* of all */
	/* of total_ns; time in the run queue, however the wait began, is WAIT_RUN_QUEUE's */
	uint64_t reason_ns[WAIT_REASONS];
	struct vec(struct wait_sum) rows; /* most time first */
	struct interner *ids;		  /* of rows, while events are added */
	/* while events are added: ids that were looked up, by a hash; 0: none */
	uint32_t recent[WAIT_SUMS_RECENT];
	/* after wait_sums_finish; thread 0: nobody; no reason, no stack */
	struct wait_shares wakers;
	struct meanwhile meanwhile; /* what wakers did while they were waited for */
};

/* It comes zeroed. 0, -ENOMEM or -EOVERFLOW (times add up to more than 64 bits). */
int wait_sums_add(struct wait_sums *s, const struct profile_wait *w);
/* For what threads do that are waited for; samples before the first wait are ignored. 0 or
 * -ENOMEM. */
int wait_sums_add_sample(struct wait_sums *s, const struct profile_sample *e);
/* After the last event: puts rows together and sorts them. 0 or -ENOMEM. */
int wait_sums_finish(struct wait_sums *s, const struct internals *internals);
void wait_sums_release(struct wait_sums *s);
