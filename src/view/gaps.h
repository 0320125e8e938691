/* SPDX-License-Identifier: MIT */
/*
 * When GPUs had nothing to do, and why.
 *
 *	work of the device   |===|          |==||=====|      |===|
 *	gaps                     |----------|          |-----|
 *	the launching thread     ..lock....  launch             ^ the call for this came before: queued
 *
 * A gap lies between the end of all work of a device so far and the next piece of work, of whatever process or stream.
 * Its cause is found in the thread that launched that piece, between the begin of the gap and that launch, by the first
 * of these rules that holds:
 *
 *	unknown		it is not known when, or by which thread, the next work was launched
 *	queued		it was launched before the gap began: the GPU itself took so long to begin
 *	input		for at least half of the time the thread waited: for a lock, I/O, events, time, a page, a process. If a thread
 *			that launches GPU work as well ended the wait, what that one did counts instead (if it is not known who
 *			ended a wait for a lock: the other thread of the process that launched work last)
 *	CPU		for at least half of the time it could have run, and had no CPU
 *	synchronization	it was in a call that waits for the GPU in the gap, or when that began, and launched the next work within
 *			1 ms of time outside that call; and so are the gaps after it until some work was queued again
 *	Python		most of its CPU samples have Python code at their leaf, and it was in CUDA calls for less than half of
 *			the time
 *	launch rate	else: it ran, in native code and CUDA calls, from one launch to the next
 *
 * Where the recording has no waits the rules for input and CPU are for threads without CPU samples in gaps in which, by
 * the rate of samples, four should be: unknown.
 *
 * A gap happened once, or is one of many: many if there are at least three before work that was launched from the same
 * stack, and it is not more than ten times as long as their median. Programs start slowly; what is once is told apart.
 */
#pragma once

#include "view/gap_events.h"
#include "view/internals.h"

enum gap_cause {
	GAP_UNKNOWN = 0,
	GAP_QUEUED,
	GAP_INPUT,
	GAP_CPU,
	GAP_SYNC,
	GAP_PYTHON,
	GAP_LAUNCH,
	GAP_CAUSES
};

struct gap {
	uint64_t start_ns, end_ns;
	size_t next;	/* the work after it: index of events.works */
	uint32_t stack; /* that shows the cause: of the wait, the synchronizing call, the sample, the launch; 0: none */
	uint8_t cause;	/* enum gap_cause */
	bool once;
};

/* The sum of gaps with one cause. */
struct gap_sum {
	uint64_t count, total_ns;
	uint32_t stack;	   /* the one with the most time, through the same functions */
	uint64_t stack_ns;
};

struct gap_device {
	uint32_t device;
	uint64_t first_ns, last_ns; /* of its work */
	uint64_t idle_ns;
	size_t first, count;		   /* its gaps, the longest first: from this index of gaps on */
	struct gap_sum many[GAP_CAUSES];   /* by cause */
	struct gap_sum once[GAP_CAUSES];
};

/* What a process had the GPUs do from its first to its last work. */
struct gap_process {
	uint32_t process;
	uint64_t span_ns;
	uint64_t kernels_ns;   /* some kernel ran */
	uint64_t transfers_ns; /* else some copy or memory set ran */
	uint64_t once_ns;      /* else: of gaps that happened once, in proportion to the gaps before its work */
	uint64_t causes_ns[GAP_CAUSES]; /* so too, of the others */
};

struct gaps {
	struct gap_events events;
	struct vec(struct gap) gaps;
	struct vec(struct gap_device) devices;	  /* the most idle first */
	struct vec(struct gap_process) processes; /* the longest first */
	struct map users;			  /* device << 32 | process: it had work there */
};

/* Reads the file once more: 0 or -errno with error_text. `internals` (may be of another reader of the same file)
 * serves to tell Python code. Comes zeroed; release it in either case. */
int gaps_read(struct gaps *g, const char *path, const struct internals *internals);
int gaps_read_within(struct gaps *g, const char *path, const struct internals *internals, size_t most);
void gaps_release(struct gaps *g);

/* "input", ..., and what it means in a few words; never NULL. */
const char *gap_cause_name(unsigned int cause);
const char *gap_cause_text(unsigned int cause);
/* Whether a thread is of a process that used the device. */
bool gaps_concerns(const struct gaps *g, const struct profile_reader *r, uint32_t device, uint32_t thread);
