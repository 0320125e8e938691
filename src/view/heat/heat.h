/* SPDX-License-Identifier: MIT */
/*
 * Time by row and by column of time: of threads, of streams, of the reasons for which threads
 * waited, or of one function by thread and stream. Or samples of GPU instructions, by what those
 * waited for.
 *
 *	columns    |     |     |     |     |	each is so many slices (view/fold/slice_sums.h)
 *	main       |  9  |  7  |     |  1  |
 *	loader     |  2  |     |  5  |     |
 *
 * A column has what a flame graph of its time has, to the nanosecond, and the rows all of it: what
 * is less than that of the rows that are wanted is together in the last. There the time of threads
 * that have no sample is divided in whole nanoseconds for each thread and column, so that it does
 * not take longer for both: the row's sum is right, and each of its columns to as many nanoseconds
 * as it has such threads.
 */
#pragma once

#include "base/vec.h"
#include "view/fold/slice_sums.h"

enum heat_of {
	HEAT_CPU = 0,  /* CPU time, by thread */
	HEAT_WAITS,    /* time in which they waited, by thread */
	HEAT_ASKED,    /* GPU time, by the thread that asked for it */
	HEAT_STREAMS,  /* GPU time, by stream */
	HEAT_REASONS,  /* time in which threads waited, by reason */
	HEAT_STALLS,   /* samples of GPU instructions, by reason */
	HEAT_FUNCTION, /* what a function stands under: CPU time by thread, GPU time by stream */
	HEAT_KINDS
};

struct heat_wanted {
	enum heat_of of;
	const char
		*function; /* what its frames are called; else those that have it in their name */
	uint32_t columns;  /* at most; at least one */
	size_t rows;	   /* the largest; at least one */
};

struct heat_row {
	char *name;
	uint32_t tid;	  /* of a thread; else 0 */
	bool gpu;	  /* it is GPU time */
	uint64_t time_ns; /* HEAT_STALLS: samples */
	uint64_t *cells;  /* of that, by column */
};

struct heat {
	uint64_t start_ns, step_ns; /* of the first column, and how long each is */
	uint32_t columns;
	struct vec(struct heat_row) rows; /* the largest first */
	size_t others;			  /* rows that are together in the last */
	size_t functions;		  /* HEAT_FUNCTION: frames of how many names */
};

/* "threads-cpu", "threads-waits", "threads-gpu", "streams", "reasons", "stalls", "function": 0, or
 * -EINVAL with error_text. */
int heat_parse(const char *text, enum heat_of *ret);
const char *heat_name(enum heat_of of);
/* Whether there are sums by time: not of recordings in bursts. */
bool heat_is_known(const struct slice_sums *s, const struct profile_reader *r);
/* `r` was read to its end, and all of it is in `s`. 0 or -errno with error_text; comes zeroed, and
 * is released in either case. */
int heat_read(struct heat *h, const struct slice_sums *s, const struct profile_reader *r,
	const struct heat_wanted *w);
void heat_release(struct heat *h);
