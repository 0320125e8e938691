/* SPDX-License-Identifier: MIT */
/*
 * The values of a profile's hardware counters, summed up by GPU and by kernel.
 *
 * A counter's value is of a whole GPU for an interval. It is a kernel's where that was alone: no
 * other work of the recording ran on the GPU in the interval, not for a moment, and the kernel (one
 * or more launches of that name) ran in at least COUNTER_COVERED_PERCENT of it. What that kernel
 * did in other intervals is not known, so each row has how much of its GPU time such intervals
 * cover. Averages are weighted by the lengths of the intervals. What programs outside of the
 * recording did on the GPU is in all values.
 *
 * Reads the file three times more; memory grows with the number of intervals (32 bytes each). By
 * ids of the profile.
 */
#pragma once

#include "base/vec.h"
#include "vendor/counter_kinds.h"
#include "profile/reader.h"

#define COUNTER_COVERED_PERCENT 90

/* One counter; those of several GPUs that count the same are one. */
struct counter_column {
	int kind;	  /* row of counter_kind_at; -1: it is in no row */
	uint32_t counter; /* the first such one of the profile */
};

struct counter_sum {
	double weighted; /* values by nanoseconds */
	uint64_t ns;	 /* 0: the counter was not there */
	double highest;
};

struct counter_kernel {
	uint32_t name;		  /* string */
	uint64_t time_ns;	  /* of all its works, on GPUs with counters */
	uint64_t alone_ns;	  /* of this, in intervals that are its own */
	uint64_t samples;	  /* such intervals */
	struct counter_sum *sums; /* by column; NULL: no such interval */
};

struct counter_device {
	uint32_t device; /* id */
	uint64_t samples, sampled_ns;
	uint64_t busy_samples, busy_ns; /* of these, intervals with any work of the recording */
	struct counter_sum *all, *busy; /* by column */
};

struct counter_sums {
	struct vec(struct counter_column)
		columns; /* in the order of counter_kind_at, unknown ones last */
	struct vec(struct counter_device) devices; /* with counters, by id */
	struct vec(struct counter_kernel) kernels; /* most GPU time first */
	/* else GPU work was recorded in bursts: no kernels, and nothing is `busy` */
	bool works_known;
};

/* Of the file of a reader that has read it to its end: 0 or -errno with error_text. `c` comes
 * zeroed, and is to be released in either case. */
int counter_sums_read(struct counter_sums *c, const struct profile_reader *done);
void counter_sums_release(struct counter_sums *c);

/* The average; 0 when there is nothing. */
double counter_sum_average(const struct counter_sum *s);
