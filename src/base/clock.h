/* SPDX-License-Identifier: MIT */
/* The one clock of a recording: CLOCK_MONOTONIC, in nanoseconds; and what a process costs. */
#pragma once

#include <stdint.h>
#include <time.h>

#define NS_PER_SECOND 1000000000ull
#define NS_PER_MS     1000000ull

static inline uint64_t clock_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_SECOND + (uint64_t)ts.tv_nsec;
}

/* The CPU time of this process so far. */
static inline uint64_t clock_own_cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_SECOND + (uint64_t)ts.tv_nsec;
}
