/* SPDX-License-Identifier: MIT */
/*
 * When a library that was put into a running program may be unmapped again.
 *
 * Callbacks of an API come from any thread of the program, and nobody reports when the last one has
 * returned. Two things together show it. Each callback counts itself, from its first line to its
 * last (leave_enter, leave_exit): there it may wait. What is outside of that, some instructions at
 * its begin and its end, never waits by itself: a thread that was seen asleep, or has used the CPU
 * for a while since, has left them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "inject/library.h"

/* Many threads launch at once: they count in different lines. */
#define LEAVE_COUNTERS 16

struct leave_counter {
	uint32_t inside;
} __attribute__((aligned(64)));

extern struct leave_counter leave_counters[LEAVE_COUNTERS];

/* At a callback's begin: what leave_exit wants. NULL where the library stays anyway. */
static inline uint32_t *leave_enter(const void *frame)
{
	uint32_t *inside;

	if (!library.joined)
		return NULL;
	/* stacks of threads are megabytes apart */
	inside =
		&leave_counters[((uintptr_t)frame >> 16) * 0x9e3779b1u >> 20 & (LEAVE_COUNTERS - 1)]
			 .inside;
	__atomic_fetch_add(inside, 1, __ATOMIC_ACQUIRE);
	return inside;
}

static inline void leave_exit(uint32_t *inside)
{
	if (inside)
		__atomic_fetch_sub(inside, 1, __ATOMIC_RELEASE);
}

/* Our thread, when no callback begins any more: waits until all have ended, so long at most. False:
 * some may still run. */
bool leave_await(uint64_t patience_ns);
/* Until each other thread that is there now was asleep, or has run for longer than any way into or
 * out of a callback takes. False: not by then. Any thread. */
bool leave_await_threads(uint64_t deadline_ns);
