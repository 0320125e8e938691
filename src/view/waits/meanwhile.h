/* SPDX-License-Identifier: MIT */
/*
 * What threads did while others waited for them, found while the events of a recording are read,
 * once.
 *
 *	user        |---------- lock ---------|          woken by loader
 *	loader      ~~~~~~~~|== sleep ==|~~~~~~~
 *	meanwhile           slept there, and ran where it was sampled
 *
 * When one thread ends the wait of another, what it did in the same time is looked up. In time in
 * which it waited for a lock itself, what counts is what the thread did that released that lock,
 * and so on: where threads stand in line for a lock, this leads to the thread that held it. If
 * nobody was seen to release a lock, that time has no doings.
 *
 * Only recorded events count. Waits recorded one by one are exact. A CPU sample counts for its
 * period, or for the time between two waits if that is shorter; samples are right on average. The
 * rest of the time is left out, so the doings of a wait sum up to no more than its length.
 *
 * Memory is bounded: the last MEANWHILE_DEEDS waits and samples are kept, and no more than
 * MEANWHILE_MAX doings. Time is bounded, too: MEANWHILE_STEPS deeds may be looked at, and one more
 * for every MEANWHILE_DEEDS_A_STEP deeds that were kept. Waits that come when no steps are left are
 * not followed.
 */
#pragma once

#include <stdbool.h>

#include "base/vec.h"
#include "profile/model.h"
#include "view/waits/shares.h"

#define MEANWHILE_DEEDS	       ((uint64_t)1 << 16) /* 48 bytes each */
#define MEANWHILE_MAX	       ((size_t)1 << 20)
#define MEANWHILE_STEPS	       ((uint64_t)1 << 15)
#define MEANWHILE_DEEDS_A_STEP 64
#define MEANWHILE_STEPS_OF_ONE 4096 /* for one wait, the latest deeds first */
#define MEANWHILE_DEPTH	       64   /* of threads that wait for each other */

struct meanwhile {
	/* the last ones of all threads: number n is at n % MEANWHILE_DEEDS */
	struct deed *deeds;
	uint64_t count;		   /* all there were; they are numbered from 1 */
	uint64_t steps;		   /* deeds that were looked at */
	struct vec(uint64_t) last; /* by thread: the number of its last one; 0: none */
	struct wait_shares doings; /* reason 0: it ran */
};

/* Comes zeroed. All: 0 or -ENOMEM. Adds what a thread did; a wait that only has the sum of others
 * is ignored. `watched`: it would have a waker, had a recorded thread ended it. */
int meanwhile_add_wait(struct meanwhile *m, const struct profile_wait *w, bool watched);
int meanwhile_add_sample(struct meanwhile *m, const struct profile_sample *e);
/* Call this before the wait itself is added. Adds to `doings` what the waker of this wait, and
 * those that it waited for, did until it was woken. *ret_ns: how much time was looked at; 0:
 * none. */
int meanwhile_follow(
	struct meanwhile *m, const struct profile_wait *w, uint32_t row, uint64_t *ret_ns);
void meanwhile_release(struct meanwhile *m);
