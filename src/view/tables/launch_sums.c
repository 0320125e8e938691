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
	vec_release(&s->longs);
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

/* The sum begins anew where it has no room for that. */
static int add_to(struct launch_sums *s, struct launch_sum *to, const struct launch_sum *more)
{
	const struct launch_sum_long both = {
		to->stack, (uint64_t)to->ns + more->ns, (uint64_t)to->works + more->works};
	bool fits = both.ns <= LAUNCH_SUM_NS_MAX && both.works <= WORKS_MAX;

	to->ns = fits ? both.ns & LAUNCH_SUM_NS_MAX : 0;
	to->works = fits ? both.works & WORKS_MAX : 0;
	return fits ? 0 : vec_push(&s->longs, both);
}

static int by_stack(const void *left, const void *right)
{
	const struct launch_sum_long *a = left, *b = right;

	return a->stack < b->stack ? -1 : a->stack > b->stack;
}

static void merge_longs(struct launch_sums *s)
{
	size_t kept = 0;

	if (!s->longs.count)
		return;
	qsort(s->longs.items, s->longs.count, sizeof(*s->longs.items), by_stack);
	vec_foreach (sum, &s->longs)
		if (kept && s->longs.items[kept - 1].stack == sum->stack) {
			s->longs.items[kept - 1].ns += sum->ns;
			s->longs.items[kept - 1].works += sum->works;
		} else {
			s->longs.items[kept++] = *sum;
		}
	s->longs.count = kept;
}

int launch_sums_merge(struct launch_sums *s, struct launch_sums_index *x)
{
	size_t mask, kept = 0;
	int error = clear_index(x, s->count, &mask);

	for (size_t n = 0; !error && n < s->count; n++) {
		const struct launch_sum sum = s->items[n];
		size_t i = hash_u64(sum.stack) & mask;

		if (n + AHEAD < s->count)
			__builtin_prefetch(
				&x->slots[hash_u64(s->items[n + AHEAD].stack) & mask], 1);
		while (x->slots[i] && s->items[x->slots[i] - 1].stack != sum.stack)
			i = (i + 1) & mask;
		if (x->slots[i]) {
			error = add_to(s, &s->items[x->slots[i] - 1], &sum);
			continue;
		}
		s->items[kept++] = sum;
		x->slots[i] = (uint32_t)kept;
	}
	if (error)
		return error;
	s->count = s->merged = kept;
	merge_longs(s);
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
	const struct launch_sum_long whole = {stack, ns, works};
	bool fits = ns <= LAUNCH_SUM_NS_MAX && works <= WORKS_MAX;

	if (!ns && !works)
		return 0;
	if (make_room(s, x) || (!fits && vec_push(&s->longs, whole)))
		return -ENOMEM;
	s->items[s->count++] = (struct launch_sum){
		stack, fits ? ns & LAUNCH_SUM_NS_MAX : 0, fits ? works & WORKS_MAX : 0};
	return 0;
}
