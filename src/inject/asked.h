/* SPDX-License-Identifier: MIT */
/*
 * Which calls of bursts were reported. An API decides at a launch whether its work is recorded:
 * perhaps in the middle of a call that began before the burst, and of which nothing is known.
 * Such work is left out.
 *
 * For each of the latest bursts a set of correlation ids, a bit each. An API's ids grow, and it
 * gives out none between bursts, so those of a burst are close to each other. Of older bursts
 * nothing is known any more: their work counts as work that nobody asked for.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define ASKED_BURSTS 64
#define ASKED_IDS    (1u << 17) /* of a burst; calls beyond these are not recorded */

struct asked_set {
	uint32_t first; /* the id of the first bit; 0: none was added */
	uint32_t bits[ASKED_IDS / 32];
	uint32_t done[ASKED_IDS / 32]; /* those some of whose work has ended */
};

extern struct asked_set *asked_now; /* of the burst that goes on, or was the last */

/* Before anything is recorded: 0 or -errno. */
int asked_init(void);
void asked_release(void);
/* Our thread: a burst begins. */
void asked_begin(void);
/* Our thread: whether a call of a burst with this id was reported. */
bool asked_for(uint32_t correlation);

/* Our thread: whether it is a call of the latest burst. */
bool asked_is_of_latest(uint32_t correlation);
/* Our thread: work of a call of the latest burst has ended. False: it is of another, or not the
 * call's first. */
bool asked_is_first_done(uint32_t correlation);

/* Where the set begins: it has room for ids that other threads got before, and report later. */
static inline uint32_t asked_first(struct asked_set *set, uint32_t correlation)
{
	uint32_t first = __atomic_load_n(&set->first, __ATOMIC_RELAXED);
	uint32_t wanted = correlation > ASKED_IDS / 4 ? correlation - ASKED_IDS / 4 : 1;

	if (!first && __atomic_compare_exchange_n(&set->first, &first, wanted, false,
			      __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		return wanted;
	return first;
}

/* The launch path, where a call is reported: false, and it may not be, as there is no room. */
static inline bool asked_add(uint32_t correlation)
{
	struct asked_set *set = asked_now;
	uint32_t n = correlation - asked_first(set, correlation);

	if (n >= ASKED_IDS)
		return false;
	__atomic_fetch_or(&set->bits[n / 32], 1u << n % 32, __ATOMIC_RELAXED);
	return true;
}
