/* SPDX-License-Identifier: MIT */
/*
 * When the calls of a program are observed at a stated cost: in windows, each at a random time of
 * its period, which it stands for (struct profile_burst).
 *
 *	|<----------- period ----------->|<------- the next ...
 *	|            |<-- window -->|    |
 *
 * Between windows nothing is there that could cost anything. So the time to the next one follows
 * from what the windows cost; if that is much, it may be so long that none comes any more.
 */
#pragma once

#include <stdint.h>

struct windows {
	uint32_t overhead; /* the budget, in millionths of the time */
	uint64_t begin_ns;
	uint64_t since_ns, until_ns;	/* the period */
	uint64_t planned_ns, length_ns; /* its window: when it is to begin, and how long it is */
	uint64_t spent_ns;		/* by all so far */
	uint64_t window_cost_ns;	/* what one cost, lately */
	uint64_t random;
};

/* The first period begins. `seed`: any number. */
void windows_begin(struct windows *w, uint32_t overhead, uint64_t now_ns, uint64_t seed);
/* The window of this period is over and has cost so much: the period lasts until now, if it was to
 * be over before. Then windows_next begins the next one. */
void windows_end(struct windows *w, uint64_t now_ns, uint64_t cost_ns);
void windows_next(struct windows *w);
/* The window that began at start_ns is cut short now, and with it the recording: from when on it
 * stands for the time until now. */
uint64_t windows_cut(const struct windows *w, uint64_t start_ns, uint64_t now_ns);
