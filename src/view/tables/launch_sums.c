// SPDX-License-Identifier: MIT
/*
 * A list that is full is merged where it has twice as many as were left by the last time, so each
 * sum is merged a few times; and made longer by a fourth, where that does not make it much shorter.
 */
#include "view/tables/launch_sums.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/large.h"

#define CAPACITY  16 /* to begin with */
#define AHEAD	  16 /* sums, of which the slots are asked for */
#define WORKS_MAX (((uint64_t)1 << (64 - LAUNCH_SUM_NS_BITS)) - 1)

void launch_sums_release(struct launch_sums *s)
{
	free(s->items);
	*s = (struct launch_sums){0};
}

void launch_sums_index_release(struct launch_sums_index *x)
{
	free(x->slots);
	*x = (struct launch_sums_index){0};
}

/* At most half of the slots are taken. */
static int clear_index(struct launch_sums_index *x, size_t sums, size_t *ret_mask)
{
	size_t capacity = 2 * CAPACITY;

	while (capacity < 2 * sums)
		capacity *= 2;
	if (sums > UINT32_MAX / 2)
		return -ENOMEM;
	if (capacity > x->capacity) {
		free(x->slots);
		x->slots = large_alloc(capacity, sizeof(*x->slots));
		x->capacity = x->slots ? capacity : 0;
		if (!x->slots)
			return -ENOMEM;
	}
	memset(x->slots, 0, capacity * sizeof(*x->slots));
	*ret_mask = capacity - 1;
	return 0;
}

static bool add_to(struct launch_sum *to, const struct launch_sum *more)
{
	if (to->stack != more->stack || more->ns > LAUNCH_SUM_NS_MAX - to->ns ||
		more->works > WORKS_MAX - to->works)
		return false;
	to->ns += more->ns;
	to->works += more->works;
	return true;
}

int launch_sums_merge(struct launch_sums *s, struct launch_sums_index *x)
{
	size_t mask, kept = 0;

	if (clear_index(x, s->count, &mask))
		return -ENOMEM;
	for (size_t n = 0; n < s->count; n++) {
		const struct launch_sum sum = s->items[n];
		size_t i = hash_u64(sum.stack) & mask;

		if (n + AHEAD < s->count)
			__builtin_prefetch(
				&x->slots[hash_u64(s->items[n + AHEAD].stack) & mask], 1);
		while (x->slots[i] && !add_to(&s->items[x->slots[i] - 1], &sum))
			i = (i + 1) & mask;
		if (x->slots[i])
			continue;
		s->items[kept++] = sum;
		x->slots[i] = (uint32_t)kept;
	}
	s->count = s->merged = kept;
	return 0;
}

static int make_room(struct launch_sums *s, struct launch_sums_index *x)
{
	size_t capacity = s->capacity + s->capacity / 4 + CAPACITY;
	struct launch_sum *items;

	if (s->count < s->capacity)
		return 0;
	if (s->count >= 2 * s->merged && launch_sums_merge(s, x))
		return -ENOMEM;
	if (s->capacity && s->count <= s->capacity / 4 * 3)
		return 0;
	items = realloc(s->items, capacity * sizeof(*items));
	if (!items)
		return -ENOMEM;
	s->items = items;
	s->capacity = capacity;
	return 0;
}

int launch_sums_add(struct launch_sums *s, struct launch_sums_index *x, uint32_t stack, uint64_t ns,
	uint64_t works)
{
	while (ns || works) {
		uint64_t some_ns = ns < LAUNCH_SUM_NS_MAX ? ns : LAUNCH_SUM_NS_MAX;
		uint64_t some = works < WORKS_MAX ? works : WORKS_MAX;

		if (make_room(s, x))
			return -ENOMEM;
		s->items[s->count++] =
			(struct launch_sum){stack, some_ns & LAUNCH_SUM_NS_MAX, some & WORKS_MAX};
		ns -= some_ns;
		works -= some;
	}
	return 0;
}
