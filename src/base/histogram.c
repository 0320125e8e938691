// SPDX-License-Identifier: MIT
#include "base/histogram.h"

/* log2(HISTOGRAM_PARTS) */
#define PARTS_BITS 6

static unsigned int bucket_of(uint64_t value)
{
	unsigned int shift;

	if (value < 2 * HISTOGRAM_PARTS)
		return (unsigned int)value;
	shift = 63 - (unsigned int)__builtin_clzll(value) - PARTS_BITS;
	return shift * HISTOGRAM_PARTS + (unsigned int)(value >> shift);
}

static uint64_t middle_of(unsigned int bucket)
{
	unsigned int shift;
	uint64_t low;

	if (bucket < 2 * HISTOGRAM_PARTS)
		return bucket;
	shift = bucket / HISTOGRAM_PARTS - 1;
	low = (uint64_t)(bucket - shift * HISTOGRAM_PARTS) << shift;
	return low + ((uint64_t)1 << shift) / 2;
}

void histogram_add_times(struct histogram *h, uint64_t value, uint64_t times)
{
	if (!times)
		return;
	h->buckets[bucket_of(value)] += times;
	if (!h->count || value < h->min)
		h->min = value;
	if (value > h->max)
		h->max = value;
	h->count += times;
	h->sum += value * times;
}

void histogram_add(struct histogram *h, uint64_t value)
{
	histogram_add_times(h, value, 1);
}

uint64_t histogram_percentile(const struct histogram *h, double percent)
{
	double wanted = (double)h->count * percent / 100;
	uint64_t seen = 0;

	for (unsigned int i = 0; i < HISTOGRAM_BUCKETS; i++) {
		seen += h->buckets[i];
		if (seen && (double)seen >= wanted) {
			uint64_t value = middle_of(i);

			return value < h->min ? h->min : value > h->max ? h->max : value;
		}
	}
	return h->max;
}
