// SPDX-License-Identifier: MIT
#include "capture/ranges.h"

#include <errno.h>
#include <string.h>

int ranges_init(struct ranges *r, uint32_t size)
{
	*r = (struct ranges){0};
	return vec_push(&r->free, ((struct range){.count = size})) < 0 ? -ENOMEM : 0;
}

void ranges_release(struct ranges *r)
{
	vec_release(&r->free);
	vec_release(&r->resting);
}

static void remove_free(struct ranges *r, size_t i)
{
	memmove(r->free.items + i, r->free.items + i + 1,
		(r->free.count - i - 1) * sizeof(*r->free.items));
	r->free.count--;
}

/* Inserts a range into the free ones, which are sorted, and joins neighbours. */
static int set_free(struct ranges *r, struct range range)
{
	struct range *items;
	size_t i = 0;

	if (vec_reserve(&r->free, 1) < 0)
		return -ENOMEM;
	items = r->free.items;
	while (i < r->free.count && items[i].first < range.first)
		i++;
	memmove(items + i + 1, items + i, (r->free.count - i) * sizeof(*items));
	items[i] = range;
	r->free.count++;
	if (i + 1 < r->free.count && items[i].first + items[i].count == items[i + 1].first) {
		items[i].count += items[i + 1].count;
		remove_free(r, i + 1);
	}
	if (i && items[i - 1].first + items[i - 1].count == items[i].first) {
		items[i - 1].count += items[i].count;
		remove_free(r, i);
	}
	return 0;
}

/* Frees the ranges that have rested long enough. */
static int wake(struct ranges *r, uint64_t now_ns)
{
	size_t done = 0;
	int error = 0;

	while (!error && done < r->resting.count && r->resting.items[done].until_ns <= now_ns) {
		error = set_free(r, r->resting.items[done].range);
		done += !error;
	}
	if (!done)
		return error;
	memmove(r->resting.items, r->resting.items + done,
		(r->resting.count - done) * sizeof(*r->resting.items));
	r->resting.count -= done;
	return error;
}

int ranges_allocate(struct ranges *r, uint32_t count, uint64_t now_ns, uint32_t *ret_first)
{
	int error = wake(r, now_ns);

	if (error)
		return error;
	if (!count) {
		*ret_first = 0;
		return 0;
	}
	vec_foreach (range, &r->free) {
		if (range->count < count)
			continue;
		*ret_first = range->first;
		range->first += count;
		range->count -= count;
		if (!range->count)
			remove_free(r, (size_t)(range - r->free.items));
		return 0;
	}
	return -ENOSPC;
}

int ranges_give_back(struct ranges *r, uint32_t first, uint32_t count, uint64_t now_ns)
{
	const struct resting_range resting = {
		.range = {.first = first, .count = count}, .until_ns = now_ns + RANGES_REST_NS};

	if (!count)
		return 0;
	return vec_push(&r->resting, resting) < 0 ? -ENOMEM : 0;
}
