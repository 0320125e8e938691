/* SPDX-License-Identifier: MIT */
/*
 * What a watch counted, put together over CPUs and made ready to be shown: rows by series, labels
 * and process, with percentiles and busy time.
 *
 * One totals lives as long as its watch. Rows are cumulative from the start; totals_since makes
 * those of an interval. One thread.
 */
#pragma once

#include "base/intern.h"
#include "base/vec.h"
#include "monitor/busy_times.h"
#include "monitor/watch.h"

#define TOTAL_LABEL_BYTES (MONITOR_LABEL_BYTES + 64) /* numbers have names in lists */

struct total {
	uint16_t series; /* of the monitor's table, or MONITOR_SERIES_LABELS */
	uint32_t pid;	 /* 0: not by process */
	uint64_t client; /* 0: not known, or of several */
	uint64_t cgroup;
	char comm[MONITOR_COMM_BYTES];
	char label[MONITOR_LABELS]
		  [TOTAL_LABEL_BYTES]; /* text; numbers are named or written out; "" for none */
	uint64_t count;
	uint64_t sum;
	uint64_t min;
	uint64_t max;
	uint64_t busy_ns;	    /* series with `busy`: the union of its stretches of time */
	uint64_t busy_uncertain_ns; /* of it, what may have been counted before (base/busy.h) */
	uint64_t buckets[MONITOR_BUCKETS];
};

/* Busy time that no row has: that of a ring is less than the sum of its processes'. */
struct total_busy {
	uint16_t series;
	uint32_t pid;				       /* 0: of all */
	char label[MONITOR_LABELS][TOTAL_LABEL_BYTES]; /* both "": of all, when there is a pid */
	uint64_t busy_ns;
	uint64_t uncertain_ns;
};

struct totals {
	struct vec(struct total) rows;	    /* by series, then the largest sum or count first */
	struct vec(struct total_busy) busy; /* by series, process and label */
	uint64_t from_ns,
		/* CLOCK_MONOTONIC: what they are about; from_ns 0: since the watch began */
		until_ns;
	struct interner
		*index; /* row 1, 2, ... by what they are by, as long as they are gathered */
};

#define TOTALS_INIT ((struct totals){0})

void totals_release(struct totals *t);

/* Everything up to now: 0 or -errno with error_text. `busy`: NULL where no series asks for it. */
int totals_fetch(
	const struct monitor *m, struct watch *w, struct busy_times *busy, struct totals *ret);
/* What totals_fetch is made of: one cell after the other, then busy times and the order. 0 or
 * -ENOMEM. */
int totals_add(struct totals *t, const struct monitor *m, const struct monitor_cell_key *key,
	const struct monitor_cell *cell);
int totals_finish(struct totals *t, const struct monitor *m, struct busy_times *busy);

/*
 * What came between two of them: rows of `now` less those of `before`, without those that did not
 * change. Shortest and longest are not known: min is the lowest value of the lowest bucket and max
 * the highest of the highest (both 0 without a histogram), no further out than those of `now`. Busy
 * time is of what ended in between, so it may be longer than the interval. 0 or -ENOMEM.
 */
int totals_since(const struct totals *now, const struct totals *before, struct totals *ret);
/* The value that `percent` of a row's values are at or below, at most 1/16 off; between min and
 * max. */
uint64_t total_percentile(const struct total *t, double percent);
/* The lowest value that is counted in a bucket; MONITOR_BUCKETS: UINT64_MAX. */
uint64_t total_bucket_low(unsigned int bucket);

/* Whether anything is summed in a series, and not only counted. */
bool totals_has_sums(const struct monitor *m, unsigned int series);

/* What distinguishes rows when they are summed up. */
enum {
	TOTAL_BY_LABEL_0 = 1 << 0,
	TOTAL_BY_LABEL_1 = 1 << 1,
	TOTAL_BY_LABELS = TOTAL_BY_LABEL_0 | TOTAL_BY_LABEL_1,
	TOTAL_BY_PROCESS = 1 << 2,
	TOTAL_BY_CLIENT = 1 << 3,
};

/* The rows of one series summed up, with times of *t; busy time is set by both labels, by process,
 * and by all three (otherwise 0, and not for clients of one process). 0 or -ENOMEM. */
int totals_merge(const struct totals *t, uint16_t series, unsigned int by, struct totals *ret);
