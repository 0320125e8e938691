/* SPDX-License-Identifier: MIT */
/* Numbers that were written down beside the recording (counts without a device), by name. */
#pragma once

#include "base/vec.h"
#include "profile/reader.h"

struct metric_row {
	uint32_t counter;  /* id */
	uint64_t count;	   /* of values */
	uint64_t total_ns; /* for which there was one */
	double weighted;   /* values by nanoseconds */
	double min, max;
};

struct metric_sums {
	struct vec(struct metric_row) rows; /* by counter; those without values have a count of 0 */
};

/* 0 or -ENOMEM. Comes zeroed. Counts of devices are none. */
int metric_sums_add(struct metric_sums *s, const struct profile_count *c);
/* After the last one: leaves out those without values. */
void metric_sums_finish(struct metric_sums *s);
void metric_sums_release(struct metric_sums *s);
/* By how long each value held; of values that did not hold, one of them. */
double metric_average(const struct metric_row *row);
