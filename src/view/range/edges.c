// SPDX-License-Identifier: MIT
#include "view/range/edges.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/portion.h"

#define SUBJECT "the range"

int edges_init(struct edges *e, const struct profile_clip *clip)
{
	*e = (struct edges){.clip = clip};
	if (!clip)
		return 0;
	e->count = 2 * clip->span_count + 1;
	e->at = calloc(e->count, sizeof(*e->at));
	return e->at ? 0 : error_memory(SUBJECT);
}

void edges_release(struct edges *e)
{
	for (size_t n = 0; e->at && n < e->count; n++)
		map_release(&e->at[n]);
	free(e->at);
	*e = (struct edges){0};
}

int edges_add(struct edges *e, uint64_t key, size_t edge, uint64_t amount)
{
	uint64_t *sum;

	if (!amount)
		return 0;
	sum = map_get(&e->at[edge], key);
	if (!sum)
		return map_put(&e->at[edge], key, amount) ? error_memory(SUBJECT) : 0;
	*sum += amount;
	return 0;
}

int edges_add_at(struct edges *e, uint64_t key, uint64_t time_ns, uint64_t amount)
{
	return e->clip ? edges_add(e, key, clip_edges_before(e->clip, time_ns), amount) : 0;
}

/* The time of the edge that has so many before it. */
static uint64_t edge_ns(const struct edges *e, size_t before)
{
	const struct profile_span *s = &e->clip->spans[before / 2];

	if (before >= e->count - 1)
		return UINT64_MAX;
	return before % 2 ? s->to_ns : s->from_ns;
}

int edges_add_time(struct edges *e, uint64_t key, uint64_t start_ns, uint64_t end_ns, double weight)
{
	size_t edge = e->clip ? clip_edges_before(e->clip, start_ns) : 0;
	uint64_t passed = 0;
	int error = 0;

	for (uint64_t at_ns = start_ns; e->clip && !error && at_ns < end_ns; edge++) {
		uint64_t next_ns = edge_ns(e, edge), until;

		at_ns = next_ns < end_ns ? next_ns : end_ns;
		until = profile_weighed(at_ns - start_ns, weight);
		error = edges_add(e, key, edge, until - passed);
		passed = until;
	}
	return error;
}

static uint64_t part(uint64_t amount, uint64_t passed, uint64_t all)
{
	return all ? (uint64_t)((unsigned __int128)amount * passed / all) : 0;
}

int edges_add_spread(
	struct edges *e, uint64_t key, uint64_t start_ns, uint64_t end_ns, uint64_t amount)
{
	size_t edge = e->clip ? clip_edges_before(e->clip, start_ns) : 0;
	uint64_t passed = 0;
	int error = 0;

	if (end_ns <= start_ns)
		return edges_add_at(e, key, end_ns, amount);
	for (uint64_t at_ns = start_ns; e->clip && !error && at_ns < end_ns; edge++) {
		uint64_t next_ns = edge_ns(e, edge), until;

		at_ns = next_ns < end_ns ? next_ns : end_ns;
		until = part(amount, at_ns - start_ns, end_ns - start_ns);
		error = edges_add(e, key, edge, until - passed);
		passed = until;
	}
	return error;
}

static uint64_t amount_at(const struct edges *e, uint64_t key, size_t edge)
{
	const uint64_t *amount = map_get(&e->at[edge], key);

	return amount ? *amount : 0;
}

uint64_t edges_inside(const struct edges *e, uint64_t key)
{
	uint64_t sum = 0;

	for (size_t edge = 1; edge < e->count; edge += 2)
		sum += amount_at(e, key, edge);
	return sum;
}

uint64_t edges_share(const struct edges *e, uint64_t key, uint64_t whole, uint64_t amount)
{
	uint64_t before = 0, sum = 0;

	for (size_t edge = 0; edge < e->count; edge++) {
		uint64_t until = before + amount_at(e, key, edge);

		if (edge % 2)
			sum += part(amount, until, whole) - part(amount, before, whole);
		before = until;
	}
	return sum;
}

/* Adds what the parts have of the units from `before` to `until` to `sums`; `first` has room for
 * twice as many. */
static int add_units(const uint64_t *parts, size_t count, uint64_t whole, uint64_t before,
	uint64_t until, uint64_t *first, uint64_t *sums)
{
	uint64_t *last = first + count;

	if (before == until)
		return 0;
	if (portion_first(parts, count, whole, before, first) ||
		portion_first(parts, count, whole, until, last))
		return error_memory(SUBJECT);
	for (size_t i = 0; i < count; i++)
		sums[i] += last[i] - first[i];
	return 0;
}

int edges_divide(const struct edges *e, uint64_t key, uint64_t *parts, size_t count)
{
	uint64_t *sums = calloc(3 * count + 1, sizeof(*sums)), before = 0, whole = 0;
	int error = sums ? 0 : error_memory(SUBJECT);

	for (size_t i = 0; i < count; i++)
		whole += parts[i];
	for (size_t edge = 0; !error && edge < e->count; edge++) {
		uint64_t until = before + amount_at(e, key, edge);

		if (edge % 2)
			error = add_units(parts, count, whole, before, until, sums + count, sums);
		before = until;
	}
	if (!error && count)
		memcpy(parts, sums, count * sizeof(*parts));
	free(sums);
	return error;
}
