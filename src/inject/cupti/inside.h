/* SPDX-License-Identifier: MIT */
/*
 * Threads of the program that are in calls of the driver, and a time in which none is.
 *
 * CUPTI (13.0) hangs for good if sampling is switched while another thread is in any call of the
 * driver. So each thread counts itself from the callback of its outermost call's begin to that of
 * its end, while callbacks of all calls are on. Who wants a time without calls holds them: threads
 * that begin one wait in that callback, where they are in no call.
 *
 *	     inside_hold                all are out                inside_release
 *	FREE ------------> COLLECTING ----------------> HELD ------------------> FREE
 *	                     after 20 ms: FREE            after 2 s: FREE
 *
 * Nobody waits for long, whatever happens: a thread that has waited until then ends the hold
 * itself. A thread that is inside may need a lock that one has who waits (20 ms), and who holds may
 * never come back from CUPTI (2 s).
 *
 * The state is in the guard page: a forked child finds nothing held.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "inject/library.h"

static inline bool inside_is_counted(void)
{
	return library.guard && __atomic_load_n(&library.guard->calls_counted, __ATOMIC_RELAXED);
}

/* Before callbacks of all calls are on; and when they are on no more. */
void inside_begin(void);
void inside_end(void);

/* The program's threads, where a call begins or ends. What it calls back for in between counts as a
 * call in a call; a callback outside of any call, which may call the driver, as one of its own.
 * `context`: the thread's current one. `begins`: it is where a call begins. Other callbacks may be
 * in the middle of a call that nobody has seen begin. */
void inside_enter(void *context, bool begins);
void inside_exit(void);

/* Any thread, which may itself be in a call. True: no other thread is, until inside_release; calls
 * of its own go on. False: some thread did not come out, or others hold. */
bool inside_hold(void);
/* Whether the hold still is ours: nobody has ended it. */
bool inside_is_held(void);
void inside_release(void);

/* The context that calls are made in; NULL: none so far, or several. */
void *inside_context(bool *ret_several);
void inside_context_ends(void *context);
/* Some context may end, or has. */
void inside_contexts_end(void);

/* Whether a thread has begun a call since inside_begin. */
bool inside_has_begun(pid_t tid);
