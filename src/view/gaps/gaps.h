/* SPDX-License-Identifier: MIT */
/*
 * When GPUs had nothing to do, and why.
 *
 * A gap lies between the end of all work of a device so far and the next piece of work, of whatever
 * process or stream. causes.h finds the cause of one gap, sites.h compares it with others: whether
 * it is one of many.
 */
#pragma once

#include "profile/clip.h"
#include "view/gaps/causes.h"
#include "view/tables/summary.h"

/* The sum of gaps with one cause. */
struct gap_sum {
	uint64_t count, total_ns;
	uint32_t stack; /* the one with the most time, through the same functions */
	uint64_t stack_ns;
};

struct gap_device {
	uint32_t device;
	uint64_t first_ns, last_ns; /* of its work */
	uint64_t span_ns;	    /* between these, of the parts that are looked at */
	uint64_t idle_ns;
	uint64_t latency_ns; /* of launches: see gap_latency */
	/* its gaps: from this index on, of gaps and of longest */
	size_t first, count;
	uint64_t begun;			 /* so many begin in the part that is shown */
	struct gap_sum many[GAP_CAUSES]; /* by cause */
	struct gap_sum once[GAP_CAUSES];
};

/* What a process had the GPUs do from its first to its last work, of the parts that are looked
 * at. */
struct gap_process {
	uint32_t process;
	uint64_t span_ns;
	uint64_t kernels_ns;   /* some kernel ran */
	uint64_t transfers_ns; /* else some copy or memory set ran */
	/* else: of gaps that happened once, in proportion to the gaps before its work */
	uint64_t once_ns;
	uint64_t causes_ns[GAP_CAUSES]; /* of other gaps, in the same proportion */
};

struct gaps {
	struct gap_events events;
	struct vec(struct gap) gaps; /* by device and time */
	/* indices of gaps: by device, the longest first */
	struct vec(uint32_t) longest;
	struct vec(struct gap_device) devices;	  /* the most idle first */
	struct vec(struct gap_process) processes; /* the longest first */
	struct map users;			  /* device << 32 | process: it had work there */
	/* The part of the recording that is shown; NULL: all. Causes are found in the whole; then
	 * gaps are cut to it. */
	const struct profile_clip *clip;
};

/* Reads the file of internals->reader twice more if any GPU work was asked for: 0 or -errno with
 * error_text. `internals` identifies Python code, the summary has the number of events. `g` comes
 * zeroed; release it in either case. */
int gaps_read(struct gaps *g, const struct internals *internals, const struct summary *s);
/* The same with the parts that were set, and the most events that are kept. */
int gaps_read_within(struct gaps *g, const struct internals *internals, size_t most);
void gaps_release(struct gaps *g);

/* The n-th longest gap of a device (< count). */
const struct gap *gaps_longest(const struct gaps *g, const struct gap_device *d, size_t n);
/* Whether a thread is of a process that used the device, and not the profiler's own. */
bool gaps_concerns(
	const struct gaps *g, const struct profile_reader *r, uint32_t device, uint32_t thread);
