// SPDX-License-Identifier: MIT
#include "profile/bursts.h"

#include <stdlib.h>
#include <string.h>

void bursts_release(struct bursts *b)
{
	vec_release(&b->all);
	vec_release(&b->strata);
}

#define COPY(to, from)                                                                             \
	({                                                                                         \
		int copy_error_;                                                                   \
		(to)->count = 0;                                                                   \
		copy_error_ = vec_reserve((to), (from)->count);                                    \
		if (!copy_error_ && (from)->count)                                                 \
			memcpy((to)->items, (from)->items,                                         \
				(from)->count * sizeof(*(from)->items));                           \
		if (!copy_error_)                                                                  \
			(to)->count = (from)->count;                                               \
		copy_error_;                                                                       \
	})

int bursts_copy(struct bursts *to, const struct bursts *from)
{
	to->without = from->without;
	to->drawn = from->drawn;
	return COPY(&to->all, &from->all) ?: COPY(&to->strata, &from->strata);
}

static bool makes_sense(const struct profile_burst *b)
{
	return b->since_ns <= b->start_ns && b->start_ns <= b->end_ns && b->end_ns <= b->until_ns;
}

int bursts_add(struct bursts *b, const struct profile_burst *burst)
{
	if (!makes_sense(burst))
		return 0;
	return vec_push(&b->all, (struct burst){.is = *burst, .weight = 1});
}

static int compare(const void *a, const void *b)
{
	const struct profile_burst *x = &((const struct burst *)a)->is,
				   *y = &((const struct burst *)b)->is;

	if (x->instance != y->instance)
		return x->instance < y->instance ? -1 : 1;
	return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

static double length_ns(const struct profile_burst *b)
{
	return (double)(b->end_ns - b->start_ns);
}

static double period_ns(const struct profile_burst *b)
{
	return (double)(b->until_ns - b->since_ns);
}

static void weigh_instance(struct bursts *b, size_t first, size_t count)
{
	double periods = 0, with_burst = 0;

	for (size_t i = first; i < first + count; i++) {
		const struct profile_burst *is = &b->all.items[i].is;

		periods += period_ns(is);
		with_burst += length_ns(is) > 0 ? period_ns(is) : 0;
	}
	b->without += !with_burst;
	for (size_t i = first; i < first + count; i++) {
		struct burst *burst = &b->all.items[i];

		if (length_ns(&burst->is) > 0)
			burst->weight = period_ns(&burst->is) / length_ns(&burst->is) * periods /
					with_burst;
	}
}

static void drop_empty(struct bursts *b)
{
	size_t kept = 0;

	for (size_t i = 0; i < b->all.count; i++)
		if (length_ns(&b->all.items[i].is) > 0)
			b->all.items[kept++] = b->all.items[i];
	b->all.count = kept;
}

double burst_stands_for_ns(const struct burst *b)
{
	return length_ns(&b->is) * b->weight;
}

/* What each stands for adds up to all periods, those without a burst too. */
static void extend(struct bursts_extent *e, const struct burst *b)
{
	e->count++;
	e->recorded_ns += length_ns(&b->is);
	e->of_ns += burst_stands_for_ns(b);
	e->of_squares += burst_stands_for_ns(b) * burst_stands_for_ns(b);
}

/* Those of one instance, from `first` on: how many there are. */
static size_t count_instance(const struct bursts *b, size_t first)
{
	size_t end = first + 1;

	while (end < b->all.count &&
		b->all.items[end].is.instance == b->all.items[first].is.instance)
		end++;
	return end - first;
}

static int divide(struct bursts *b)
{
	int error = vec_push(&b->strata, (struct bursts_extent){0});

	for (size_t at = 0, count; !error && at < b->all.count; at += count) {
		uint32_t stratum = 0;

		count = count_instance(b, at);
		if (count > 1) {
			stratum = (uint32_t)b->strata.count;
			error = vec_push(&b->strata, (struct bursts_extent){0});
		}
		for (size_t i = at; !error && i < at + count; i++) {
			b->all.items[i].stratum = stratum;
			extend(&b->strata.items[stratum], &b->all.items[i]);
		}
	}
	return error;
}

int bursts_weigh(struct bursts *b)
{
	if (!b->all.count)
		return 0;
	qsort(b->all.items, b->all.count, sizeof(b->all.items[0]), compare);
	for (size_t at = 0, count; at < b->all.count; at += count) {
		count = count_instance(b, at);
		weigh_instance(b, at, count);
	}
	drop_empty(b);
	return divide(b);
}

uint32_t bursts_find(const struct bursts *b, uint32_t instance, uint64_t time_ns)
{
	struct burst key = {.is = {.instance = instance, .start_ns = time_ns}};
	size_t low = 0, high = b->all.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare(&b->all.items[middle], &key) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low && b->all.items[low - 1].is.instance == instance)
		return (uint32_t)low;
	if (low < b->all.count && b->all.items[low].is.instance == instance)
		return (uint32_t)low + 1;
	return 0;
}

double bursts_weight(const struct bursts *b, uint32_t number)
{
	return number && number <= b->all.count ? b->all.items[number - 1].weight : 1;
}

struct bursts_extent bursts_extent(const struct bursts *b)
{
	struct bursts_extent all = {0};

	vec_foreach (burst, &b->all)
		extend(&all, burst);
	return all;
}
