/* SPDX-License-Identifier: MIT */
/*
 * A vendor's names for the reasons why GPU warps stall, as its driver has them and profiles keep
 * them ("..._stalled_long_scoreboard"): a prefix, the reason, and perhaps the mark of latency
 * samples. view/stalls/reasons.h reads them.
 */
#pragma once

#include <stdbool.h>

/* What all vendors' reasons are grouped and coloured by. */
enum stall_class {
	STALL_MEMORY = 0, /* data is on its way, or a queue for memory accesses is full */
	STALL_MATH,	  /* a result or a unit that computes it is not ready */
	STALL_SYNC,	  /* waits for other warps */
	STALL_FETCH,	  /* the instruction itself is not there */
	STALL_CONTROL,	  /* where to go on is not known yet, or the warp sleeps */
	STALL_ISSUING,	  /* it goes on, or could */
	STALL_OTHER,
	STALL_CLASSES
};

struct stall_reason {
	/* the end of the vendor's name: "long_scoreboard"; NULL ends the table */
	const char *name;
	const char *words; /* "waiting for a global or local memory load" */
	enum stall_class class;
	bool issuing; /* not a stall: the warp issued the instruction it was seen at */
};

struct stall_names {
	const char *const *prefixes; /* up to a NULL */
	/* Behind the name of a reason: the scheduler issued nothing at all in that cycle, from any
	 * warp. Such samples also count without the mark, under the same reason. NULL: the vendor
	 * does not distinguish them. */
	const char *latency_mark;
	const struct stall_reason *reasons;
	const char *sample;	  /* what a sample is, so that shares are of what */
	const char *disassembler; /* what writes instructions with operands, and how it is had */
};
