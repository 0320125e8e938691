/* SPDX-License-Identifier: MIT */
/*
 * How long threads ran that are sampled by perf events, by the count of these, and how much of it
 * was in the kernel: an event has a tick each period on each CPU, and those in the kernel give no
 * sample. Both are written when all is recorded (struct profile_account).
 *
 * The kernel reports the count of a thread that ends. The events that were opened themselves are
 * not reported so, and as it moves the events of a process from thread to thread, these can be any
 * thread's in the end: the one of which nothing is reported.
 *
 * A thread that has executed another program has one count for both. The first has what its samples
 * stand for, the last the rest.
 */
#pragma once

#include "base/map.h"
#include "base/vec.h"
#include "profile/writer.h"

struct thread_time {
	uint32_t thread; /* of the profile */
	uint64_t run_ns, end_ns;
	uint64_t ticks, samples;
};

struct perf_times {
	uint64_t period_ns;
	struct map indices; /* thread -> in `items`, and 1 */
	struct vec(struct thread_time) items;
	struct map unreported; /* threads that have ended -> when */
	struct map before;     /* tid -> what was counted for earlier programs and is not off yet */
	struct map begins;     /* tid of one that ran already -> the scheduler's account then */
	uint64_t reported_ns;  /* of all threads that have ended */
};

void perf_times_release(struct perf_times *t);
/* These: 0 or -ENOMEM with error_text. */
int perf_times_add_sample(struct perf_times *t, uint32_t thread);
/* Thread `tid` runs already, and has run so long before the recording. */
int perf_times_begin(struct perf_times *t, uint32_t tid, uint64_t run_ns);
/* How much of what the scheduler's account of it says is since then; all, of another thread. */
uint64_t perf_times_since_begin(const struct perf_times *t, uint32_t tid, uint64_t run_ns);
/* It has ended: its number may come again. */
void perf_times_forget(struct perf_times *t, uint32_t tid);
/* How long thread `tid` ran on one CPU, in all. */
int perf_times_add_run(
	struct perf_times *t, uint32_t thread, uint32_t tid, uint64_t run_ns, uint64_t end_ns);
/* It has ended. */
int perf_times_end(struct perf_times *t, uint32_t thread, uint64_t end_ns);
/* What was reported of no thread; `first` has it if all that have ended are reported. */
int perf_times_add_rest(struct perf_times *t, uint32_t first, uint64_t run_ns);
/* `thread`, the present one of this number, is about to run another program. */
int perf_times_add_exec(struct perf_times *t, uint32_t thread, uint32_t tid, uint64_t time_ns);
/* Writes all. Where samples were lost, none is taken for one in the kernel. */
int perf_times_write(struct perf_times *t, struct profile_writer *w, bool lost);
