/* SPDX-License-Identifier: MIT */
/*
 * What threads did while others waited for them, found while the events of a recording are read, once.
 *
 *	user        |---------- lock ---------|          woken by loader
 *	loader      ~~~~~~~~|== sleep ==|~~~~~~~
 *	meanwhile           slept there, and ran where it was sampled
 *
 * Of a wait that a thread ended, what that thread did in the same time is looked up. While it waited for a lock itself, it is what
 * the thread did that let that lock go, and so on: where threads stand in line for a lock, this leads to who had it. Of a lock
 * of which it is not known who had it nothing is told.
 *
 * Only what was seen counts: waits that are told one by one, which are exact, and CPU samples, each for its period as far as
 * there is so much between two waits, which are right on average. The rest of the time is not known. What is told of a wait sums up
 * to no more than its length.
 *
 * Memory is bounded: the last MEANWHILE_DEEDS waits and samples are kept, and no more than MEANWHILE_MAX doings. So is time: when
 * MEANWHILE_STEPS deeds have been looked at, one more is for every MEANWHILE_DEEDS_A_STEP that were kept, and waits that come when
 * there is none left are not followed.
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
	struct deed *deeds;	   /* the last ones of all threads: number n is at n % MEANWHILE_DEEDS */
	uint64_t count;		   /* all there were; they are numbered from 1 */
	uint64_t steps;		   /* deeds that were looked at */
	struct vec(uint64_t) last; /* by thread: the number of its last one; 0: none */
	struct wait_shares doings; /* reason 0: it ran */
};

/* Comes zeroed. All: 0 or -ENOMEM. A thread did this; a wait of which only the sum of others is told is nothing. `watched`: it would
 * have a waker, had a recorded thread ended it. */
int meanwhile_add_wait(struct meanwhile *m, const struct profile_wait *w, bool watched);
int meanwhile_add_sample(struct meanwhile *m, const struct profile_sample *e);
/* Adds to `doings` what the waker of this wait, and those that it waited for, did until the wait was woken, before the wait is added
 * itself. *ret_ns: how much time that was looked at; 0: none. */
int meanwhile_follow(struct meanwhile *m, const struct profile_wait *w, uint32_t row, uint64_t *ret_ns);
void meanwhile_release(struct meanwhile *m);
