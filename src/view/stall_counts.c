// SPDX-License-Identifier: MIT
#include "view/stall_counts.h"

#include "base/vec.h"

void stall_counts_release(struct stall_counts *c)
{
	vec_release(c);
}

int stall_counts_add(struct stall_counts *c, const struct stall_count *more)
{
	return vec_push(c, *more);
}

static int compare_u64(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int by_reason(const void *left, const void *right)
{
	const struct stall_count *a = left, *b = right;

	return a->row != b->row ? compare_u64(a->row, b->row) : compare_u64(a->reason, b->reason);
}

static int by_samples(const void *left, const void *right)
{
	const struct stall_count *a = left, *b = right;

	if (a->row != b->row)
		return compare_u64(a->row, b->row);
	if (a->samples != b->samples)
		return compare_u64(b->samples, a->samples);
	return compare_u64(a->reason, b->reason);
}

/* Sorted by row and reason, equals become one. */
static void merge(struct stall_counts *c)
{
	size_t kept = 0;

	for (size_t i = 0; i < c->count; i++) {
		const struct stall_count *at = &c->items[i];
		struct stall_count *last = kept ? &c->items[kept - 1] : NULL;

		if (last && last->row == at->row && last->reason == at->reason) {
			last->samples += at->samples;
			last->latency += at->latency;
		} else {
			c->items[kept++] = *at;
		}
	}
	c->count = kept;
}

void stall_counts_settle(struct stall_counts *c)
{
	if (!c->count)
		return;
	qsort(c->items, c->count, sizeof(*c->items), by_reason);
	merge(c);
	qsort(c->items, c->count, sizeof(*c->items), by_samples);
}

/* The first item of this row or a later one. */
static size_t first_of(const struct stall_counts *c, uint64_t row)
{
	size_t low = 0, high = c->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (c->items[middle].row < row)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct stall_count *stall_counts_of(const struct stall_counts *c, uint32_t row, size_t *ret_count)
{
	size_t first = first_of(c, row);

	*ret_count = first_of(c, (uint64_t)row + 1) - first;
	return *ret_count ? &c->items[first] : NULL;
}
