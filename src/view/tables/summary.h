/* SPDX-License-Identifier: MIT */
/*
 * Where the time of a recording went, in tables: what `xpuprof report` prints.
 *
 * One pass over the events, with memory for the tables of the profile and for the distinct pairs of
 * (kind of GPU work, launching stack), not for the events. Totals are exact, but for those whose
 * comment calls them an estimate or a bound.
 *
 * Where GPU work was recorded in bursts, or only some of it has times, all sums and numbers of
 * works, launches and calls are estimates of what there was, with their range; minima, maxima and
 * numbers of stacks, joins and launches without work are of what is in the file. When devices were
 * busy is not known then.
 *
 * Everything is by id of the profile (names: the reader, which must outlive the use of it). Lists
 * are sorted by time, longest first; equals by id. Devices are sorted by number.
 */
#pragma once

#include "base/vec.h"
#include "profile/reader.h"
#include "profile/chunk_times.h"
#include "profile/spread.h"
#include "view/tables/driver_sums.h"
#include "view/tables/function_sums.h"
#include "view/tables/marker_sums.h"
#include "view/tables/metric_sums.h"
#include "base/histogram.h"
#include "view/names/internals.h"
#include "view/waits/sums.h"

struct summary_time {
	uint64_t count;
	uint64_t total_ns;
	uint64_t min_ns;
	uint64_t max_ns;
	struct spread_range total_range, count_range; /* in bursts: what it may be */
};

struct summary_kernel {
	uint32_t name; /* string: mangled */
	struct summary_time time;
	uint32_t stack;	   /* the launch_path with the most time; 0: none */
	uint64_t stack_ns; /* its time: of all stacks through the same functions */
};

struct summary_copy {
	uint8_t kind, source, target; /* enum profile_copy_kind, enum profile_memory_kind */
	struct summary_time time;
	uint64_t bytes;
};

struct summary_set {
	uint8_t target; /* enum profile_memory_kind */
	struct summary_time time;
	uint64_t bytes;
};

struct summary_call {
	uint32_t api; /* string */
	enum profile_call_kind kind;
	bool observed; /* how long they took is known only if they waited */
	struct summary_time time;
	uint64_t failed;
};

struct summary_device {
	uint32_t device;
	uint32_t number; /* for people: see device.h */
	uint64_t works;
	uint64_t work_ns;      /* sum of durations; more than busy_ns where work ran side by side */
	uint64_t busy_ns;      /* at least one piece of work ran */
	uint64_t uncertain_ns; /* busy_ns may be this much too small; 0: exact */
	uint64_t first_ns;
	uint64_t last_ns;
	struct spread_range work_range, works_range;
};

/* A process or a thread; id 0 stands for those not known. */
struct summary_task {
	uint32_t id;
	uint64_t samples;
	uint64_t cpu_ns;
	bool sampled; /* cpu_ns is what samples stand for, all of it or some: else it is exact */
	uint64_t figures;  /* as many samples, for text_sampled_duration: many where it is exact */
	uint64_t launches; /* calls that asked for GPU work, with or without it; 0 for work without
			      thread */
	uint64_t works;
	uint64_t gpu_ns;
	struct spread_range gpu_range, works_range;
};

/* From the beginning of the launching call to the start of the work. */
struct summary_latency {
	struct histogram times;
	uint64_t
		backwards; /* works that started before their call, by the clocks; not in `times` */
	uint64_t in_graphs; /* works of graphs, which also wait for each other; not in `times` */
};

struct summary_reason {
	uint32_t note; /* string: the note that stands in for the missing root */
	uint64_t count;
};

/* How whole the stacks are of all samples, launches, works or waits. */
struct summary_stacks {
	uint64_t count;
	uint64_t with_stack;
	uint64_t incomplete; /* of these: they do not reach their root */
	uint64_t python;     /* of those with a stack: with Python frames */
	/* of the incomplete ones, the most frequent first */
	struct vec(struct summary_reason) reasons;
};

struct summary {
	uint64_t start_ns, end_ns; /* of the recording; if it does not have them, of its events */
	uint64_t samples, cpu_ns;
	bool sampled_time; /* as in struct summary_task */
	uint64_t works, gpu_ns;
	bool in_bursts; /* GPU work was recorded in bursts */
	bool estimated; /* it was, or only some has times; the next lines are for this only */
	struct bursts_extent bursts;
	uint32_t without_bursts;	  /* instances of which nothing is known */
	uint64_t seen_works, seen_gpu_ns; /* in the file */
	struct spread_range gpu_range, works_range;
	uint64_t calls; /* in the file */
	uint64_t pending[PENDING_REASONS];
	uint64_t joins[JOIN_REASONS];
	struct summary_stacks sample_stacks;
	struct summary_stacks launch_stacks; /* calls, but for those that only wait */
	struct summary_stacks work_stacks;
	/* off-CPU waits, but for those whose time others carry */
	struct summary_stacks wait_stacks;
	struct internals internals; /* what the paths to kernels leave out */
	struct summary_latency latency;
	struct vec(struct summary_kernel) kernels;
	struct vec(struct summary_copy) copies;
	struct vec(struct summary_set) sets;
	struct vec(struct summary_call) call_times;
	struct vec(struct summary_device) devices;
	struct vec(struct summary_task) processes;
	struct vec(struct summary_task) threads;
	/* pids in none of the rows, as they have no samples, launches or work */
	uint32_t processes_without;
	uint32_t threads_without;   /* tids, too; without the profiler's own */
	struct driver_sums drivers; /* not in any of the others */
	struct marker_sums markers;
	struct metric_sums metrics;
	struct wait_sums waits;
	struct stack_sums sampled; /* CPU time by stack */
	struct chunk_times chunks; /* of this file */
};

/* Reads the profile to its end: 0 or -errno with error_text (-EOVERFLOW: its times add up to more
 * than 64 bits hold). `s` comes zeroed, and is to be released in either case. */
int summary_read(struct summary *s, struct profile_reader *r);
void summary_release(struct summary *s);
