/* SPDX-License-Identifier: MIT */
/*
 * Sorts a list that comes nearly sorted, by group (device or thread) first: items are put beside
 * the others of their group, and then moved back to where they belong, mostly not far. All is
 * inlined where it is used, as lists have millions of items: with their size and their order known
 * to the compiler, an item takes a few instructions.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/large.h"
#include "base/vec.h"

#define NEARLY_ITEM_MAX	 64 /* bytes */
#define NEARLY_MOVES_MAX 8  /* an item, on average */
#define NEARLY_INLINE	 static inline __attribute__((always_inline))

typedef uint32_t nearly_group_fn(const void *item);
typedef int nearly_order_fn(const void *a, const void *b);

NEARLY_INLINE bool nearly_is_sorted(
	const char *items, size_t count, size_t size, nearly_order_fn compare)
{
	for (size_t i = 1; i < count; i++)
		if (compare(items + (i - 1) * size, items + i * size) > 0)
			return false;
	return true;
}

struct nearly_counts vec(size_t);

NEARLY_INLINE int nearly_count(const char *items, size_t count, size_t size,
	nearly_group_fn group_of, struct nearly_counts *ret)
{
	for (size_t i = 0; i < count; i++) {
		uint32_t group = group_of(items + i * size);

		while (ret->count <= group)
			if (vec_push(ret, 0))
				return -ENOMEM;
		ret->items[group]++;
	}
	return 0;
}

/* Returns a copy in which items of the same group are beside each other, in the order in which they
 * came, the lowest group first; NULL where that is not needed, or there is no memory for it. */
NEARLY_INLINE char *nearly_put_together(
	const char *items, size_t count, size_t size, nearly_group_fn group_of)
{
	struct nearly_counts next = {0};
	bool one = nearly_count(items, count, size, group_of, &next) ||
		   next.items[group_of(items)] == count;
	char *together = one ? NULL : large_alloc(count, size);
	size_t sum = 0;

	vec_foreach (n, &next) {
		sum += *n;
		*n = sum - *n;
	}
	for (size_t i = 0; together && i < count; i++)
		memcpy(together + next.items[group_of(items + i * size)]++ * size, items + i * size,
			size);
	vec_release(&next);
	return together;
}

/* Sorts by insertion; false if items are too far from where they belong. */
NEARLY_INLINE bool nearly_move_back(char *items, size_t count, size_t size, nearly_order_fn compare)
{
	size_t moves = NEARLY_MOVES_MAX * count;
	char item[NEARLY_ITEM_MAX];

	for (size_t i = 1; i < count; i++) {
		size_t at = i;

		while (at && compare(items + (at - 1) * size, items + i * size) > 0 && moves) {
			at--;
			moves--;
		}
		if (!moves)
			return false;
		if (at == i)
			continue;
		memcpy(item, items + i * size, size);
		memmove(items + (at + 1) * size, items + at * size, (i - at) * size);
		memcpy(items + at * size, item, size);
	}
	return true;
}

/* Of a list; `compare` is by group first. */
NEARLY_INLINE void nearly_sort_items(void **items, size_t *capacity, size_t count, size_t size,
	nearly_group_fn group_of, nearly_order_fn compare)
{
	char *together;

	if (nearly_is_sorted(*items, count, size, compare))
		return;
	together = nearly_put_together(*items, count, size, group_of);
	if (together) {
		free(*items);
		*items = together;
		*capacity = count;
	}
	if (!nearly_move_back(*items, count, size, compare))
		qsort(*items, count, size, compare);
}

/* Sorts a vec. */
#define nearly_sort(list, group_of, compare)                                                       \
	({                                                                                         \
		_Static_assert(sizeof(*(list)->items) <= NEARLY_ITEM_MAX, "items are larger");     \
		nearly_sort_items((void **)&(list)->items, &(list)->capacity, (list)->count,       \
			sizeof(*(list)->items), group_of, compare);                                \
	})
