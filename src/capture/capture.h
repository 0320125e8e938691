/* SPDX-License-Identifier: MIT */
/*
 * The CPU side of a recording: timer samples, launch stacks, and changes to processes (fork,
 * exec, exit, mappings), all through BPF and perf events. Where BPF is refused and libraries walk,
 * it only has what their stacks need: mappings, from /proc, and unwind tables. Samples of the
 * program itself are then by perf events that need no rights (perf_samples.h).
 *
 * Life: open -> track (roots, before they run) -> start -> any number of drain -> stop -> drain ->
 * close. One thread. Samples are written to the profile; launches that came through the
 * marker are sent to `launches`, mappings and tables for walkers inside of processes to `news`;
 * processes and threads are added to the registry. Stacks are interned here: addresses become
 * (module, offset) by the mappings the process had at that moment.
 *
 * Functions return 0 or -errno with error_text, where nothing else is written.
 */
#pragma once

#include <sys/types.h>

#include "capture/files.h"
#include "wire/marker.h"
#include "profile/driver_news.h"
#include "profile/gpu_events.h"
#include "profile/walker_news.h"
#include "profile/tasks.h"

struct capture;
struct kept_files;

struct capture_options {
	unsigned int sample_hz; /* 0: no timer samples */
	bool launches;		/* put the probe on the launch marker */
	bool waits;		/* and when threads do not run */
	uint64_t wait_min_ns;	/* with stacks where they last at least so long */
	bool observes;		/* calls of programs that cannot be joined (capture_observe) */
	uint32_t overhead;	/* of that, in millionths of the time; 0: calls are all observed */
	struct driver_news drivers; /* of what drivers say by probes of their own */
	bool whole_system;	    /* samples of every process, not of the tracked trees only */
	/* go on where BPF programs cannot be had, for libraries that walk by themselves; nothing
	 * else is recorded then */
	bool libraries_walk;
	const char *library; /* libxpuprof-inject.so, where the marker is */
	struct files_options files;
};

/*
 * Loads the BPF programs and opens the events. -EPERM (or -EACCES) means the rights for BPF are
 * missing; error_text is then one line on how to get them. Of `launches` only `launch` is called.
 */
int capture_open(struct capture **ret, const struct capture_options *options,
	struct profile_writer *w, struct tasks *tasks, struct gpu_events launches,
	struct walker_news news);
/* Why there are no BPF programs; NULL: there are. */
const char *capture_refusal(const struct capture *c);

enum capture_samples {
	CAPTURE_NO_SAMPLES,
	CAPTURE_SAMPLES_USER, /* while the program itself runs, and not the kernel for it */
	CAPTURE_SAMPLES_ALL,
};

/* Which samples there are, if they are wanted. Where there are any, processes are followed. */
enum capture_samples capture_samples(const struct capture *c);
/* Why there are not even those of the program itself; NULL: there are, or nobody asked for them. */
const char *capture_perf_refusal(const struct capture *c);
/* Why files of programs are read by this process itself; NULL: they are not, or that was asked
 * for. */
const char *capture_sandbox_refusal(const struct capture *c);
/* Why waits are not recorded though that was asked for; NULL: they are. */
const char *capture_waits_refusal(const struct capture *c);
/* Why unwind tables are not kept for later recordings; NULL: they are, or nobody asked for it. */
const char *capture_cache_problem(const struct capture *c);
/* Follow this process and everything it starts; without BPF programs, from its next exec on. For
 * one that runs already its mappings are read now. */
int capture_track(struct capture *c, pid_t pid);
/* So too, at once, with the processes that it has started before, as far as their parents still
 * link them to it. */
int capture_track_tree(struct capture *c, pid_t pid);
/* This process, a followed one, is the recorder's own code until its exec: what it does before that
 * is not recorded. */
void capture_ignore_until_exec(struct capture *c, pid_t pid);
/* Notes the signals that are sent to this process, a followed one, and to us. */
void capture_note_signals(struct capture *c, pid_t pid);
/* Whether the last two times that this signal was sent to it and to us are within `within_ns` of
 * each other, by the kernel's clock. What we send to it ourselves does not count. */
bool capture_signal_came_to_both(const struct capture *c, int number, uint64_t within_ns);
int capture_start(struct capture *c);
/* Readable when the kernel has something for us. */
int capture_poll_fd(const struct capture *c);
/* Readable when code was mapped somewhere on the machine. A machine that starts programs all the
 * time causes it with each of them, so a drain for this alone can wait some milliseconds. Until
 * then, stacks of new code come with a copy of stack memory, to be walked later. */
int capture_maps_fd(const struct capture *c);
/* Drains everything that is there now. *ret_busy: there was much, drain again soon. */
int capture_drain(struct capture *c, bool *ret_busy);
/* No new samples or launches from now on; the rings are still to be drained. */
int capture_stop(struct capture *c);
void capture_close(struct capture *c);

/* Resolves stacks that were walked inside of processes, followed or alive, by the mappings of the
 * latest drain. `prepare` drains; when the process begins to launch, it waits a little for the
 * tables that its stacks need. `resolve` gives 0 for a stack without frames, or one that makes no
 * sense, which is counted. */
struct stack_resolver capture_stack_resolver(struct capture *c);
/* Stacks of launches so far, from all sources. */
uint64_t capture_launch_stacks(const struct capture *c);
/* The files of the profile's modules, for symbolization; good until capture_close. */
const struct kept_files *capture_kept_files(const struct capture *c);
/* How many stacks end in code made at run time. */
uint64_t capture_stacks_in_jit(const struct capture *c);
/* When, at the latest, a location was first seen. */
uint64_t capture_seen_ns(const struct capture *c, uint32_t location);
/* Who opens and reads them, after the last drain. */
struct files_processes capture_files_processes(const struct capture *c);

/* Whether this build has the programs. */
bool capture_is_built(void);
/* Loads the BPF programs for samples and launches and closes them again: 0 where this kernel
 * accepts them. */
int capture_check(void);
/* So too for samples by perf events, which need no rights. */
int capture_check_perf(void);
/* The cheapest marker here, measured (LAUNCH_MARKER_NONE when no probe works), and the cost of a
 * hit of each in nanoseconds (0: cannot be attached, or was not tried as it is
 * expensive on this kernel). */
enum launch_marker capture_measure_markers(uint32_t ret_cost_ns[LAUNCH_MARKER_KINDS]);
/* The one that capture_open chose. */
enum launch_marker capture_marker(const struct capture *c);

/*
 * Observes the calls of a GPU driver's library in a process: probes of the kernel see those that
 * ask for work, with their stacks, and time those that wait for it (profile_call.observed). Which
 * work that is, and how long it took, nobody knows then. Under a budget that happens in windows,
 * which are reported as bursts of this instance (gpu_events.h).
 */
int capture_observe(struct capture *c, uint32_t pid, uint32_t process, uint32_t instance);
/* Whether it can be done, */
bool capture_observes(const struct capture *c);
/* and if that was asked for, why not. */
const char *capture_observe_refusal(const struct capture *c);
/* Opens and closes windows: every round, and when one is due. */
int capture_observe_round(struct capture *c);
uint64_t capture_observe_due_ns(const struct capture *c);
/* Why a process image (profile id) that was to be observed is not, or not to its end; NULL: it is.
 * *ret_any: at least some of its calls may have been seen. */
const char *capture_not_observed(const struct capture *c, uint32_t process, bool *ret_any);

/* Calls visit for the processes that are followed and have not ended, as of the latest drain, until
 * one call returns false. None where there are no BPF programs. */
void capture_each_followed(
	const struct capture *c, bool (*visit)(void *context, uint32_t pid), void *context);

/* `api`: by which it can be joined (vendor_to_join); -1: it cannot be. */
typedef void capture_gpu_process(void *context, uint32_t pid, uint32_t process, int api);
/* Calls visit for every process that was seen mapping the library of a GPU driver
 * (vendor_is_any_driver) during its present or (it has ended) last image, not for forked children
 * of which only the parent did. It is for finding programs that use a GPU and never connected. */
void capture_each_gpu_process(const struct capture *c, capture_gpu_process *visit, void *context);
/* An API that such a process uses, as it mapped a driver of it (vendor_apis_of_driver): by its
 * number on the wire, its name, and why it may not be seen. */
struct capture_api_use {
	uint32_t pid, process, api;
	const char *name, *unseen;
};

void capture_each_api_use(const struct capture *c,
	void (*visit)(void *context, const struct capture_api_use *use), void *context);
