/* SPDX-License-Identifier: MIT */
/*
 * What the parts of the CPU side share: capture.c (the session, a drain), capture_changes.c (changes to processes),
 * capture_stacks.c (from a stack as it was taken to one of the profile) and capture_spaces.c (what walkers are told).
 */
#pragma once

#include "base/vec.h"
#include "capture/capture.h"
#include "capture/changes.h"
#include "capture/modules.h"
#include "capture/pending.h"
#include "capture/perf_maps.h"
#include "capture/processes.h"
#include "capture/programs.h"
#include "capture/spaces.h"
#include "capture/stacks.h"
#include "capture/waits.h"
#include "unwind/tables.h"

/* A process that is gone and had mapped the library of a GPU driver. */
struct ended_process {
	uint32_t pid;
	uint32_t process; /* profile id */
};

struct capture {
	bool whole_system;
	bool walks;   /* there are stacks to take */
	bool stopped; /* nothing new will come */
	enum launch_marker marker;
	struct profile_writer *w;
	struct tasks *tasks;
	struct gpu_events launches;
	struct walker_news news;
	uint32_t ignored; /* pid of the process that has not executed its program yet; 0: none */
	uint64_t launch_stacks;
	struct programs *programs; /* NULL: without BPF; mappings are then known from /proc, when libraries ask */
	struct perf_maps *perf_maps;
	char *refusal;                    /* why there are no programs */
	char *waits_refusal;              /* why they tell of no waits */
	struct walk_mapping *own_mappings; /* in place of the array that is shared with them */
	struct modules *modules;
	struct processes *processes;
	struct stacks *stacks;
	struct unwind_tables *tables;
	struct spaces *spaces;
	struct pending pending;
	struct waits *waits;
	uint64_t tickets; /* for stacks of waits */
	uint32_t chunks; /* of the tables' words, how many were told */
	struct unwind_totals table_totals; /* what of these is in the profile */
	bool tables_evicted;               /* by the latest of these */
	uint64_t spaces_failed;            /* in the profile as well */
	uint64_t waited_ns;                /* for tables, in the course of the recording */
	struct changes changes;
	struct bpf_losses counted; /* what of the kernel's counts is in the profile */
	struct vec(struct ended_process) ended;
	uint64_t drained_ns; /* when the latest drain began: what it had not seen came after this */
	int poll_fd;
	int maps_fd; /* mapping events only */
};

/* Takes what the kernel has told of changes since the last time, in no order yet: 0 or -errno. */
int capture_gather_changes(struct capture *c);
/* Applies what was gathered, up to this time, in order. */
int capture_apply_until(struct capture *c, uint64_t until_ns);
/* Some of it was lost on the way. */
int capture_count_lost_changes(struct capture *c, uint64_t lost);
/* Tells the sink that code was mapped, and whether over other code. */
int capture_tell_code_change(struct capture *c, struct process *process, uint64_t time_ns);

/* One record of a ring (records.c), by its beginning of this size; one that is malformed is counted. */
int records_take_sample(struct capture *c, const void *record, size_t size);
int records_take_launch(struct capture *c, const void *record, size_t size);
int records_take_wait(struct capture *c, const void *record, size_t size);

/* The process a stack was taken in. */
int capture_process(struct capture *c, uint32_t pid, struct process **ret);
/* The profile's stack for one of a launch, which may wait for tables. */
int capture_intern(struct capture *c, uint32_t pid, struct raw_stack *raw, uint32_t *ret_stack,
	uint32_t *ret_incomplete);
/* Writes a sample with its stack, now or when its tables are ready. */
int capture_take_sample(struct capture *c, uint32_t pid, struct raw_stack *raw,
	const struct profile_sample *sample);
/* Tells of a wait that begins, with its stack or, when its tables are not ready, without: it is told when they are. */
int capture_take_wait(struct capture *c, uint32_t pid, uint32_t tid, struct raw_stack *raw,
	const struct wait_begin *begin);
/* Writes samples that waited for tables: those that need not, or may not, wait longer. */
int capture_walk_pending(struct capture *c);

/* A stack_resolver's functions. */
int capture_prepare(void *context, uint32_t pid, bool begins);
int capture_resolve(void *context, const struct walked_stack *stack, uint32_t *ret_stack,
	uint32_t *ret_incomplete);
int capture_done_with(void *context, uint32_t pid);

int capture_open_tables(struct capture *c);
int capture_open_spaces(struct capture *c);
/* Takes in which tables are ready, or are not any more. */
int capture_take_tables(struct capture *c);
/* Without programs: reads the process's mappings, unless that was done since the latest drain began, and with it
 * since all that is being taken in was told. */
int capture_look_again(struct capture *c, uint32_t pid);
/* Tells walkers what has changed since the last time. */
int capture_publish(struct capture *c);
/* A python_namer. */
int capture_name_python(void *context, struct process *process, const struct walk_python_frame *frame,
	struct python_line *ret);
