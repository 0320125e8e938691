// SPDX-License-Identifier: MIT
#include "profile/bursts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void bursts_release(struct bursts *b)
{
	vec_release(&b->all);
}

int bursts_copy(struct bursts *to, const struct bursts *from)
{
	to->all.count = 0;
	to->without = from->without;
	if (!from->all.count)
		return 0;
	if (vec_reserve(&to->all, from->all.count))
		return -ENOMEM;
	memcpy(to->all.items, from->all.items, from->all.count * sizeof(*from->all.items));
	to->all.count = from->all.count;
	return 0;
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

/* Those of one instance, from `first` on: how many there are. */
static size_t weigh_instance(struct bursts *b, size_t first)
{
	uint32_t instance = b->all.items[first].is.instance;
	double periods = 0, with_burst = 0;
	size_t end = first;

	for (; end < b->all.count && b->all.items[end].is.instance == instance; end++) {
		const struct profile_burst *is = &b->all.items[end].is;

		periods += period_ns(is);
		with_burst += length_ns(is) > 0 ? period_ns(is) : 0;
	}
	b->without += !with_burst;
	for (size_t i = first; i < end; i++) {
		struct burst *burst = &b->all.items[i];

		if (length_ns(&burst->is) > 0)
			burst->weight = period_ns(&burst->is) / length_ns(&burst->is) * periods /
					with_burst;
	}
	return end - first;
}

static void drop_empty(struct bursts *b)
{
	size_t kept = 0;

	for (size_t i = 0; i < b->all.count; i++)
		if (length_ns(&b->all.items[i].is) > 0)
			b->all.items[kept++] = b->all.items[i];
	b->all.count = kept;
}

void bursts_weigh(struct bursts *b)
{
	if (!b->all.count)
		return;
	qsort(b->all.items, b->all.count, sizeof(b->all.items[0]), compare);
	for (size_t at = 0; at < b->all.count;)
		at += weigh_instance(b, at);
	drop_empty(b);
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

/* What each stands for adds up to all periods, those without a burst too. */
struct bursts_extent bursts_extent(const struct bursts *b)
{
	struct bursts_extent ret = {.count = b->all.count};

	vec_foreach (burst, &b->all) {
		ret.recorded_ns += length_ns(&burst->is);
		ret.of_ns += length_ns(&burst->is) * burst->weight;
	}
	return ret;
}
