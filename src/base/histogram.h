/* SPDX-License-Identifier: MIT */
/*
 * A histogram of durations with bounded memory and bounded relative error, at any scale: each power
 * of two is divided into 64 equal parts.
 *
 *	value   0 .. 127    one bucket each, exact
 *	      128 .. 255    64 buckets of 2
 *	      256 .. 511    64 buckets of 4  ...
 *
 * A percentile is the middle of its bucket and at most 1/128 of its value off; count,
 * sum, minimum and maximum are exact.
 */
#pragma once

#include <stdint.h>

#define HISTOGRAM_PARTS	  64
#define HISTOGRAM_BUCKETS (HISTOGRAM_PARTS * 59)
/* The largest relative error of a percentile, in percent, rounded up. */
#define HISTOGRAM_ERROR_PERCENT 0.8

struct histogram {
	uint64_t buckets[HISTOGRAM_BUCKETS];
	uint64_t count;
	uint64_t sum;
	uint64_t min; /* meaningful when count > 0 */
	uint64_t max;
};

void histogram_add(struct histogram *h, uint64_t value);
/* The same value so many times. */
void histogram_add_times(struct histogram *h, uint64_t value, uint64_t times);
/* The value that `percent` of all are at or below; 0 when there are none. */
uint64_t histogram_percentile(const struct histogram *h, double percent);
