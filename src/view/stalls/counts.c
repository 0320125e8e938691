// SPDX-License-Identifier: MIT
/*
 * Settling is a counting sort by row. Then, row by row, counts of the same reason are added up
 * where the first of them stands, which a table by reason remembers, and what is left is sorted.
 */
#include "view/stalls/counts.h"

#include "base/vec.h"

void stall_counts_release(struct stall_counts *c)
{
	vec_release(c);
	free(c->first);
	*c = STALL_COUNTS_INIT;
}

int stall_counts_add(struct stall_counts *c, const struct stall_count *more)
{
	return c->count < UINT32_MAX - 1 ? vec_push(c, *more) : -ENOMEM;
}

static int compare_u64(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int by_samples(const void *left, const void *right)
{
	const struct stall_count *a = left, *b = right;

	return a->samples != b->samples ? compare_u64(b->samples, a->samples)
					: compare_u64(a->reason, b->reason);
}

/* Puts the items into the order of their rows: first[row] is where a row begins. */
static int sort_by_row(struct stall_counts *c)
{
	struct stall_count *sorted;
	uint32_t *next, at = 0;

	for (size_t i = 0; i < c->count; i++)
		if (c->items[i].row >= c->rows)
			c->rows = (size_t)c->items[i].row + 1;
	c->first = calloc(c->rows + 1, sizeof(*c->first));
	next = calloc(c->rows + 1, sizeof(*next));
	sorted = calloc(c->count, sizeof(*sorted));
	if (!c->first || !next || !sorted) {
		free(next);
		free(sorted);
		return -ENOMEM;
	}
	for (size_t i = 0; i < c->count; i++)
		c->first[c->items[i].row]++;
	for (size_t row = 0; row <= c->rows; row++) {
		uint32_t count = c->first[row];

		c->first[row] = next[row] = at;
		at += count;
	}
	for (size_t i = 0; i < c->count; i++)
		sorted[next[c->items[i].row]++] = c->items[i];
	free(next);
	free(c->items);
	c->items = sorted;
	c->capacity = c->count;
	return 0;
}

/* Moves a row, from `begin` to `end`, to `to` with each reason once: how many are left. `positions`
 * is by reason and all zeros before and after. */
static uint32_t merge_row(
	struct stall_counts *c, uint32_t begin, uint32_t end, uint32_t to, uint32_t *positions)
{
	uint32_t kept = 0;

	for (uint32_t i = begin; i < end; i++) {
		const struct stall_count at = c->items[i];
		uint32_t *position = &positions[at.reason];

		if (*position) {
			c->items[to + *position - 1].samples += at.samples;
			c->items[to + *position - 1].latency += at.latency;
		} else {
			c->items[to + kept++] = at;
			*position = kept;
		}
	}
	for (uint32_t i = 0; i < kept; i++)
		positions[c->items[to + i].reason] = 0;
	if (kept > 1)
		qsort(&c->items[to], kept, sizeof(*c->items), by_samples);
	return kept;
}

int stall_counts_settle(struct stall_counts *c)
{
	uint32_t reasons = 0, at = 0, *positions;
	int error;

	if (!c->count)
		return 0;
	for (size_t i = 0; i < c->count; i++)
		if (c->items[i].reason > reasons)
			reasons = c->items[i].reason;
	error = sort_by_row(c);
	if (error)
		return error;
	positions = calloc((size_t)reasons + 1, sizeof(*positions));
	if (!positions)
		return -ENOMEM;
	for (size_t row = 0; row < c->rows; row++) {
		uint32_t begin = c->first[row], end = c->first[row + 1];

		c->first[row] = at;
		at += merge_row(c, begin, end, at, positions);
	}
	c->first[c->rows] = at;
	c->count = at;
	free(positions);
	return 0;
}

const struct stall_count *stall_counts_of(
	const struct stall_counts *c, uint32_t row, size_t *ret_count)
{
	*ret_count = row < c->rows ? c->first[row + 1] - c->first[row] : 0;
	return *ret_count ? &c->items[c->first[row]] : NULL;
}
