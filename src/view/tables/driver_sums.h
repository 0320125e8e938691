/* SPDX-License-Identifier: MIT */
/*
 * What the kernel's GPU drivers did, summed up: the jobs of each ring, and all other events by
 * source, ring and name.
 *
 * Memory is bounded: there are at most DRIVER_ROWS_MAX rings and as many rows. Events of further
 * ones are only counted. By ids of the profile.
 */
#pragma once

#include <stddef.h>

#include "base/busy.h"
#include "base/map.h"
#include "base/vec.h"
#include "profile/model.h"
#include "base/histogram.h"

#define DRIVER_ROWS_MAX 256

struct driver_ring {
	uint32_t source, ring;	 /* strings */
	struct histogram queued; /* how long jobs waited until they ran */
	struct histogram run;	 /* how long they ran; in both only what ended */
	uint64_t jobs;		 /* that ran, or did when the recording ended */
	uint64_t unfinished;	 /* of them, or waiting to run, when the recording ended */
	uint64_t run_ns;	 /* of all jobs, up to the end of the recording */
	uint64_t foreign_jobs;	 /* of processes that were not recorded */
	uint64_t foreign_ns;	 /* of run_ns */
	uint64_t busy_ns;	 /* at least one job ran */
	uint64_t uncertain_ns;	 /* busy_ns may be this much too small; 0: exact */
	struct busy busy;
};

struct driver_row {
	uint32_t source, ring, name; /* strings */
	enum profile_driver_kind kind;
	uint64_t count;
	uint64_t foreign; /* of them */
	uint64_t unfinished;
	uint64_t bytes;
	uint64_t total_ns;	/* up to the end of the recording */
	struct histogram times; /* of what ended; empty for moments */
};

struct driver_sums {
	uint64_t count;				/* events, of any kind */
	uint64_t uncounted;			/* of these, in no row */
	struct vec(struct driver_ring *) rings; /* most run time first */
	struct vec(struct driver_row *) rows;	/* most time first, then the most frequent */
	struct map ring_of, row_of;		/* hash of its key: index */
	uint64_t total_ns, bytes;		/* no sum in a row is more */
};

/* 0, -ENOMEM or -EOVERFLOW (times add up to more than 64 bits). It comes zeroed, and is to be
 * released. */
int driver_sums_add(struct driver_sums *s, const struct profile_driver *e);
/* After the last event: 0 or -ENOMEM. */
int driver_sums_finish(struct driver_sums *s);
void driver_sums_release(struct driver_sums *s);
