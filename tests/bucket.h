/* SPDX-License-Identifier: MIT */
/* The bucket of a value in a monitor's histograms, as the programs in the kernel count it
 * (bpf/monitor_counts.h). */
#pragma once

#include "bpf/monitor.h"

_Static_assert(MONITOR_BUCKET_PARTS == 1 << 3, "the shifts below");

static inline unsigned int total_bucket(uint64_t value)
{
	unsigned int highest, bucket;

	if (value < MONITOR_BUCKET_PARTS)
		return (unsigned int)value;
	highest = 63 - (unsigned int)__builtin_clzll(value);
	bucket = (highest - 2) * MONITOR_BUCKET_PARTS +
		 (unsigned int)(value >> (highest - 3)) % MONITOR_BUCKET_PARTS;
	return bucket < MONITOR_BUCKETS ? bucket : MONITOR_BUCKETS - 1;
}
