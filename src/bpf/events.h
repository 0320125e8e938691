/* SPDX-License-Identifier: MIT */
/*
 * What the BPF programs send to src/capture/: the layout of the records in the three ring buffers,
 * and of the counters beside them. Included by both sides.
 *
 *	samples   struct bpf_sample_event, frames
 *	launches  struct bpf_launch_event, frames
 *	tasks     struct bpf_task_event, for EXEC followed by the arguments
 *
 * Three rings, so that a flood of one kind cannot displace another. Times are CLOCK_MONOTONIC. Pids
 * are thread group ids and tids thread ids, both as the recorder's pid namespace counts them.
 * Frames are instruction addresses, the leaf first.
 */
#pragma once

#ifdef __bpf__
typedef __u8 uint8_t;
typedef __u16 uint16_t;
typedef __u32 uint32_t;
typedef __u64 uint64_t;
#else
#include <stdint.h>
#endif

#define BPF_STACK_DEPTH_MAX  127 /* frames of one kind; also the kernel's own limit */
#define BPF_COMM_SIZE        16
#define BPF_ARGUMENTS_MAX    512
#define BPF_SIGNALS          32 /* those without queue */

/* How a walk over user frames ended. */
enum bpf_walk_end {
	WALK_NONE = 0, /* there is no user side: a kernel thread */
	WALK_ZERO,     /* the saved frame pointer was 0 */
	WALK_FAULT,    /* a frame could not be read */
	WALK_ASTRAY,   /* the saved frame pointer does not point further up the stack */
	WALK_DEPTH,    /* BPF_STACK_DEPTH_MAX frames and no end */
	WALK_UNKNOWN,  /* the kernel walked and does not say */
};

struct bpf_sample_event {
	uint64_t time_ns;
	uint64_t period_ns;
	uint32_t pid;
	uint32_t tid;
	uint32_t cpu;
	uint16_t user_depth;   /* frames of the program, and behind them */
	uint16_t kernel_depth; /* frames of the kernel */
	uint32_t walk_end;
	char comm[BPF_COMM_SIZE];
	uint32_t reserved;
	/* frames follow */
};

/* The frames begin with the caller of the marker. */
struct bpf_launch_event {
	uint64_t time_ns;
	uint32_t pid;
	uint32_t tid;
	uint32_t instance;
	uint32_t correlation;
	uint16_t user_depth;
	uint8_t call_kind;
	uint8_t walk_end;
	/* The library's name for the innermost of these frames (inject/stacks.h): */
	uint32_t stack_number;    /* 0: none */
	uint32_t chain_depth;     /* frames behind the first one */
	uint32_t code_generation; /* lowest bits */
	/* frames follow */
};

enum bpf_task_event_kind {
	TASK_FORK = 1, /* `parent` made process `pid` */
	TASK_THREAD,   /* `pid` made thread `tid` */
	TASK_EXEC,     /* `pid` runs another program now */
	TASK_RENAME,   /* thread `tid` of `pid` is called `comm` now */
	TASK_EXIT,     /* `pid` is gone, reaped, and its number free for reuse */
};

struct bpf_task_event {
	uint64_t time_ns;
	uint32_t kind;
	uint32_t pid;
	uint32_t tid;
	uint32_t parent;
	char comm[BPF_COMM_SIZE];
	uint32_t arguments_size;
	uint32_t reserved;
	/* Arguments follow, as in /proc/PID/cmdline: each ends in a NUL; cut off at
	 * BPF_ARGUMENTS_MAX. */
};

/* What did not fit into a ring, counted where it happened. */
struct bpf_losses {
	uint64_t samples;
	uint64_t launches;
	uint64_t tasks;
};
