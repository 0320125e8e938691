/* SPDX-License-Identifier: MIT */
/*
 * What threads waited for that waited for the GPU: the time of each wait is divided among the work
 * that ran meanwhile.
 *
 *	wait        |--------------------------------------|	for stream 7
 *	stream 7      |== A ==|     |== B ==========|
 *	stream 8            |== C =====|      |== D =|
 *	            i  A A A A C C C B B B B B B B B  i i i	i: idle
 *
 * A moment belongs to the work that runs then on what is waited for and was launched before the
 * wait (or before the event was recorded that it waits for); where several do, to the one that ends
 * last. Where none does, other work of the same device (or process, where the device is not known)
 * ran: GPU_WAIT_OTHERS, or it was idle: GPU_WAIT_IDLE. The parts of a wait add up to its length.
 *
 * The driver may run work of graphs on streams of its own: it is waited for in the stream that the
 * graph was launched into. Where that is not known it counts for every stream of its context.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/model.h"

struct gpu_wait {
	uint64_t start_ns, end_ns;
	uint64_t launched_ns; /* work that was launched later is not waited for; 0: not known */
	uint32_t thread;
	uint32_t process;
	uint32_t device;  /* id; 0: not known */
	uint32_t context; /* 0: any */
	uint32_t stream;
	uint32_t kind; /* enum profile_sync_kind; 0: for everything that the process launched */
	uint32_t key;  /* the caller's */
};

/* What runs in order, so that of what is launched later nothing ends earlier: a stream, or the part
 * of it that is of graphs of which it is not known where they were launched. */
struct gpu_lane {
	uint32_t process, device, context, stream;
	bool any_stream; /* it is waited for in every stream of its context */
};

struct gpu_run {
	uint64_t start_ns, end_ns;
	uint64_t launch_ns; /* 0: not known */
	uint32_t lane;	    /* index */
	uint32_t key;	    /* the caller's */
};

/* What a part of a wait is of: one of these, or GPU_WAIT_WORK + key of the run. */
enum {
	GPU_WAIT_IDLE = 0,
	GPU_WAIT_OTHERS,
	GPU_WAIT_WORK,
};

/* The stream of the op's context in which its work is waited for; 0: not known, it is work of a
 * graph. */
uint32_t gpu_waits_stream(const struct profile_work *w, const struct profile_op *op);

/* Gets a part of a wait; `key` is that of the wait << 32 | what the part is of. 0 or -errno. */
struct gpu_wait_parts {
	void *arg;
	int (*add)(void *arg, uint64_t key, uint64_t from_ns, uint64_t to_ns);
};

/* Hands out the parts of all waits; those of one wait in the order of time. Sorts the runs by
 * start. 0 or -errno with error_text. */
int gpu_waits_divide(const struct gpu_wait *waits, size_t wait_count, struct gpu_run *runs,
	size_t run_count, const struct gpu_lane *lanes, size_t lane_count,
	const struct gpu_wait_parts *parts);
