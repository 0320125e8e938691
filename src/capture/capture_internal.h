/* SPDX-License-Identifier: MIT */
/*
 * What the parts of the CPU side share: capture.c (the session, a drain), capture_changes.c
 * (changes to processes), capture_stacks.c (from a raw stack to one of the profile),
 * capture_asleep.c (stacks of threads that slept before) and capture_spaces.c (what is published
 * for walkers).
 */
#pragma once

#include "base/vec.h"
#include "capture/cpu_accounts.h"
#include "capture/capture.h"
#include "capture/changes.h"
#include "capture/driver_probes.h"
#include "capture/files.h"
#include "capture/modules.h"
#include "capture/pending.h"
#include "capture/perf_python.h"
#include "capture/perf_samples.h"
#include "capture/perf_times.h"
#include "capture/perf_maps.h"
#include "capture/processes.h"
#include "capture/programs.h"
#include "capture/python_names.h"
#include "capture/spaces.h"
#include "capture/stack_parts.h"
#include "capture/stacks.h"
#include "capture/waits.h"
#include "unwind/tables.h"

/* A process that is gone and had mapped the library of a GPU driver. */
struct ended_process {
	uint32_t pid;
	uint32_t process;     /* profile id */
	uint32_t joins, apis; /* process.maps_joins, maps_apis */
};

/* How many locations the profile had at a time. */
struct locations_seen {
	uint64_t time_ns;
	uint32_t count;
};

struct capture {
	bool whole_system;
	bool walks;   /* stacks are recorded */
	bool stopped; /* no new records come */
	enum launch_marker marker;
	struct profile_writer *w;
	struct tasks *tasks;
	struct gpu_events launches;
	struct walker_news news;
	uint32_t ignored; /* pid of the process that has not executed its program yet; 0: none */
	uint64_t launch_stacks;
	uint64_t stacks_in_jit;
	struct vec(struct locations_seen) seen; /* rising */
	/* NULL: without BPF; mappings are then read from /proc, when libraries ask, unless `perf`
	 * reports them */
	struct programs *programs;
	struct perf_maps *perf_maps;
	struct perf_samples *perf;    /* instead of programs; NULL: not wanted, or refused */
	uint8_t *perf_stack;	      /* a stack and what was read behind its copy */
	struct perf_times perf_times; /* how long threads ran */
	uint32_t perf_first;	      /* its pid; 0: it was attached to */
	uint32_t perf_first_thread;   /* of the profile: its, or the attached process's first */
	uint64_t perf_lost;
	bool perf_times_written;
	struct perf_python *perf_python; /* Python's frames of these */
	char *refusal;			 /* why there are no programs */
	char *perf_refusal;		 /* and why none of these samples */
	char *waits_refusal;		 /* why they record no waits */
	char *observe_refusal;		 /* and why they observe no calls */
	struct driver_probes *drivers;	 /* NULL: nobody wants what they say, or it cannot be had */
	struct observing *observing;	 /* NULL: nobody is to be observed */
	struct walk_mapping *own_mappings; /* instead of the array that is shared with them */
	struct files *files;
	uint64_t files_unreadable; /* of files_unreadable, what is in the profile */
	uint64_t mappings_cut;	   /* so too, of processes_mappings_left_out */
	struct modules *modules;
	struct processes *processes;
	struct python_names *names;
	struct python_names_totals names_totals; /* what of these is in the profile */
	struct stack_parts *parts;
	struct stacks *stacks;
	struct unwind_tables *tables;
	struct spaces *spaces;
	struct pending pending;
	struct waits *waits;
	uint64_t tickets; /* for stacks of waits */
	struct asleep *asleep;
	uint32_t chunks;		   /* of the tables' words, how many were sent */
	struct unwind_totals table_totals; /* what of these is in the profile */
	bool tables_evicted;		   /* by the latest of these */
	uint64_t spaces_failed;		   /* in the profile as well */
	uint64_t waited_ns;		   /* for tables, in the course of the recording */
	struct changes changes;
	struct cpu_accounts accounts;
	struct bpf_losses counted; /* what of the kernel's counts is in the profile */
	struct vec(struct ended_process) ended;
	uint64_t drained_ns; /* when the latest drain began: what it had not seen came after this */
	int poll_fd;
	int maps_fd; /* mapping events only */
};

/* Reads the changes that the kernel has reported since the last time, in no order yet: 0 or
 * -errno. */
int capture_gather_changes(struct capture *c);
/* Applies what was gathered, up to this time, in order. */
int capture_apply_until(struct capture *c, uint64_t until_ns);
/* Whether the kernel reports what processes map. */
static inline bool capture_is_reported(const struct capture *c)
{
	return c->programs || c->perf;
}

/* Opens samples by perf events. -errno with error_text: they are refused. */
int capture_open_perf(struct capture *c, unsigned int hz);
int capture_track_perf(struct capture *c, struct process *process, bool runs);
/* From now on they are taken. */
int capture_start_perf(struct capture *c);
/* How long a thread ran; it is over. */
int capture_add_perf_time(struct capture *c, const struct change *change);
/* It has ended; how long it ran follows. */
int capture_end_perf_thread(struct capture *c, const struct change *change);
/* A process is about to run another program, and does so. */
int capture_begin_perf_exec(struct capture *c, const struct change *change);
int capture_end_perf_exec(struct capture *c, const struct change *change);
/* Drains them, and the changes up to this time. */
int capture_drain_perf(struct capture *c, uint64_t snapshot_ns);

/* Counts changes that were lost on the way. */
int capture_count_lost_changes(struct capture *c, uint64_t lost);
/* Sends the news that code was mapped, and whether over other code. */
int capture_send_code_change(struct capture *c, struct process *process, uint64_t time_ns);

/* Decodes one record of a ring (records.c) and handles it; one that is malformed is counted. */
int records_handle_sample(struct capture *c, const void *record, size_t size);
int records_handle_launch(struct capture *c, const void *record, size_t size);
int records_handle_wait(struct capture *c, const void *record, size_t size);

/* The process of a stack; its mappings are read if it is new. */
int capture_process(struct capture *c, uint32_t pid, struct process **ret);
/* The profile's stack for one of a launch, which may wait for tables. */
int capture_intern(struct capture *c, uint32_t pid, struct raw_stack *raw, uint32_t *ret_stack,
	uint32_t *ret_incomplete);
/* Writes a sample with its stack, now or when its tables are ready. */
int capture_add_sample(struct capture *c, uint32_t pid, struct raw_stack *raw,
	const struct profile_sample *sample);
/* Adds a wait that begins, with its stack. When tables for that are not ready, the stack is added
 * later. */
int capture_begin_wait(struct capture *c, uint32_t pid, uint32_t tid, struct raw_stack *raw,
	const struct wait_begin *begin);
struct asleep *asleep_new(void); /* NULL: no memory */
void asleep_free(struct asleep *a);
/* Adds the wait of a thread that slept before the recording began; its stack comes later. The event
 * is sound. */
int capture_add_asleep(struct capture *c, const struct bpf_asleep_event *e);
/* Has their stacks read, and adds those that have been. */
int capture_read_asleep(struct capture *c);
/* The stack for a ticket, now or when its tables are ready. */
int capture_add_wait_stack(
	struct capture *c, uint32_t pid, uint32_t tid, uint64_t ticket, struct raw_stack *raw);
/* Writes the samples whose tables are ready, or that have waited too long. */
int capture_walk_pending(struct capture *c);

/* Prepares for observing; needs programs that can. */
int capture_open_observing(struct capture *c, uint32_t overhead);
/* The calls that are under way are left out, and counted. */
int capture_stop_observing(struct capture *c);
void capture_close_observing(struct capture *c);
/* Writes an observed call. */
int capture_add_observed(
	struct capture *c, const struct bpf_launch_event *e, uint32_t thread, uint32_t stack);

/* A stack_resolver's functions. */
int capture_prepare(void *context, uint32_t pid, bool begins);
int capture_resolve(void *context, const struct walked_stack *stack, uint32_t *ret_stack,
	uint32_t *ret_incomplete);
int capture_done_with(void *context, uint32_t pid);

int capture_open_tables(struct capture *c);
int capture_open_spaces(struct capture *c);
/* Uses what has come of files that nobody waited for. */
int capture_update_files(struct capture *c);
/* Updates which tables are ready, and which are not any more. */
int capture_update_tables(struct capture *c);
/* Without programs: reads the process's mappings, unless that was done since the latest drain
 * began, and so after everything that is being drained. */
int capture_look_again(struct capture *c, uint32_t pid);
/* Publishes for walkers what has changed since the last time. */
int capture_publish(struct capture *c);
/* A python_namer's functions. */
int capture_want_python(void *context, struct process *process,
	const struct walk_python_frame *frames, uint32_t depth, bool *ret_coming);
int capture_name_python(void *context, struct process *process,
	const struct walk_python_frame *frame, struct python_line *ret);
/* Counts what could not be read of Pythons. */
int capture_count_python(struct capture *c);
