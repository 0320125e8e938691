/* SPDX-License-Identifier: MIT */
/*
 * Recording at a stated cost: our thread lets the API report work in bursts only.
 *
 *	|<------------- period ------------->|<------- the next ...
 *	|            |timing|<-- burst -->|  |
 *
 * A burst lasts some milliseconds, begins at a random time of its period, and is reported with it:
 * what was asked for in it stands for the whole period. Outside of bursts the API calls nothing of
 * ours and makes no records. Shortly before each, calls are only timed, so that it is known how
 * much longer they take while they are recorded. The costs of a burst are
 *
 *	- what calls took longer, and the API's own part of callbacks, at a rate that was measured
 *	- what records of work cost a GPU, at such a rate, too
 *	- what it takes to switch
 *	- the CPU time of our thread, all of it
 *
 * and periods are as long as it takes to keep their sum within the budget. Where even rare and
 * short bursts cost too much, the library gives up.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "guest/futex.h"
#include "inject/library.h"

/* In the first nanoseconds, so many, nothing is given up. Nobody changes it but tests. */
extern volatile uint64_t bursts_patience_ns;

/* Our thread, before its first round. Does nothing where everything is recorded. */
void bursts_begin(void);
/* Our thread, every round. False: the budget cannot be held. */
bool bursts_round(void);
/* Our thread: how long it may sleep, timeout_ns at most. */
uint64_t bursts_sleep_ns(uint64_t timeout_ns);
/* Our thread, when recording ends: also ends a burst, and reports it. */
void bursts_end(void);
/* Our thread: a record of work has come. */
void bursts_count_work(void);
/* So too, and it is that of a graph that was launched in a burst, by this call. */
void bursts_graph_worked(uint32_t correlation);

/* Calls of bursts that have begun and not returned. */
extern int32_t bursts_open_calls;

/* The launch path: such a call begins, or ends. */
static inline void bursts_call_begins(void)
{
	__atomic_fetch_add(&bursts_open_calls, 1, __ATOMIC_RELAXED);
}

static inline void bursts_call_ends(void)
{
	__atomic_fetch_sub(&bursts_open_calls, 1, __ATOMIC_RELEASE);
}

/* The launch path: a graph was launched in a burst. */
void bursts_graph_launched(void);
/* The launch path: a launch took so long while it was recorded, or while it was only timed. */
void bursts_time_call(bool recorded, uint64_t duration_ns);

/* The launch path: how long a call takes its thread, where costs are to be known. */
struct timed_call {
	uint64_t begun_ns; /* 0: it is not timed */
	bool recorded;
};

static inline void timed_begin(struct timed_call *t)
{
	t->recorded = is_recording();
	t->begun_ns = library.overhead && (t->recorded || is_timing()) ? now_ns() : 0;
}

static inline void timed_end(const struct timed_call *t)
{
	if (t->begun_ns)
		bursts_time_call(t->recorded, now_ns() - t->begun_ns);
}
