/* SPDX-License-Identifier: MIT */
/* What capture.c (samples, launches, the session) and capture_changes.c (changes to processes) share. */
#pragma once

#include "base/vec.h"
#include "capture/capture.h"
#include "capture/changes.h"
#include "capture/modules.h"
#include "capture/perf_maps.h"
#include "capture/processes.h"
#include "capture/programs.h"
#include "capture/stacks.h"

/* A process that is gone and had mapped a watched file. */
struct ended_process {
	uint32_t pid;
	uint32_t process; /* profile id */
};

struct capture {
	bool whole_system;
	enum launch_marker marker;
	struct profile_writer *w;
	struct tasks *tasks;
	struct gpu_sink sink;
	struct programs *programs;
	struct perf_maps *perf_maps;
	struct modules *modules;
	struct processes *processes;
	struct stacks *stacks;
	struct changes changes;
	struct bpf_losses counted; /* what of the kernel's counts is in the profile */
	struct vec(struct ended_process) ended;
	uint64_t drained_ns; /* when the latest drain began: what it had not seen came after this */
	int poll_fd;
};

/* Takes what the kernel has told of changes since the last time, in no order yet: 0 or -errno. */
int capture_gather_changes(struct capture *c);
/* Applies what was gathered, up to this time, in order. */
int capture_apply_until(struct capture *c, uint64_t until_ns);
/* Some of it was lost on the way. */
int capture_count_lost_changes(struct capture *c, uint64_t lost);
/* Tells the sink that code was mapped, and whether over other code. */
int capture_tell_code_change(struct capture *c, struct process *process, uint64_t time_ns);
