// SPDX-License-Identifier: MIT
/*
 * The method gives unit by unit to the part with the largest part / (units it has + 1). No part
 * ever has less than its exact share rounded down, so it can begin there, with less than `count`
 * units left to give. A heap has the part whose turn it is at its top.
 */
#include "base/portion.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

struct heap {
	const uint64_t *parts;
	const uint64_t *have;
	size_t *items; /* parts that are not whole yet */
	size_t count;
};

/* Whether the next unit is a's rather than b's. */
static bool is_before(const struct heap *h, size_t a, size_t b)
{
	unsigned __int128 left = (unsigned __int128)h->parts[a] * (h->have[b] + 1),
			  right = (unsigned __int128)h->parts[b] * (h->have[a] + 1);

	return left != right ? left > right : a < b;
}

static void sink(struct heap *h, size_t at)
{
	for (;;) {
		size_t child = 2 * at + 1, item = h->items[at];

		if (child >= h->count)
			return;
		if (child + 1 < h->count && is_before(h, h->items[child + 1], h->items[child]))
			child++;
		if (!is_before(h, h->items[child], item))
			return;
		h->items[at] = h->items[child];
		h->items[child] = item;
		at = child;
	}
}

static int give(const uint64_t *parts, size_t count, uint64_t left, uint64_t *have)
{
	struct heap h = {.parts = parts, .have = have};

	h.items = malloc(count * sizeof(*h.items));
	if (!h.items)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		if (have[i] < parts[i])
			h.items[h.count++] = i;
	for (size_t i = h.count / 2; i--;)
		sink(&h, i);
	for (; left && h.count; left--) {
		size_t top = h.items[0];

		have[top]++;
		if (have[top] == parts[top])
			h.items[0] = h.items[--h.count];
		sink(&h, 0);
	}
	free(h.items);
	return 0;
}

int portion_first(
	const uint64_t *parts, size_t count, uint64_t whole, uint64_t first, uint64_t *ret)
{
	uint64_t left = first;

	for (size_t i = 0; i < count; i++) {
		ret[i] = whole ? (uint64_t)((unsigned __int128)parts[i] * first / whole) : 0;
		left -= ret[i];
	}
	return left ? give(parts, count, left, ret) : 0;
}
