// SPDX-License-Identifier: MIT
#include "view/waits/shares.h"

#include <errno.h>
#include <stdlib.h>

#include "base/search.h"

void wait_shares_release(struct wait_shares *s)
{
	vec_release(&s->items);
	interner_free(s->ids);
	s->ids = NULL;
}

int wait_shares_add(struct wait_shares *s, const struct wait_share *share)
{
	const uint32_t key[] = {share->row, share->thread, share->reason, share->stack};
	struct wait_share *found;
	uint32_t id;
	int added;

	if (!s->ids && interner_new(&s->ids))
		return -ENOMEM;
	if (interner_add(s->ids, key, sizeof(key), &id, &added) ||
		(added && vec_push(&s->items, *share) < 0))
		return -ENOMEM;
	if (added)
		return 0;
	found = &s->items.items[id - 1];
	found->threads += share->threads;
	found->count += share->count;
	found->total_ns += share->total_ns;
	return 0;
}

static int by_row_and_time(const void *left, const void *right)
{
	const struct wait_share *a = left, *b = right;

	if (a->row != b->row)
		return a->row < b->row ? -1 : 1;
	if (a->total_ns != b->total_ns)
		return a->total_ns > b->total_ns ? -1 : 1;
	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	if (a->stack != b->stack)
		return a->stack < b->stack ? -1 : 1;
	return (int)a->reason - (int)b->reason;
}

void wait_shares_finish(struct wait_shares *s)
{
	interner_free(s->ids);
	s->ids = NULL;
	if (s->items.count)
		qsort(s->items.items, s->items.count, sizeof(*s->items.items), by_row_and_time);
}

/* The first of a row, or of those behind it. */
static size_t first_of(const struct wait_shares *s, uint64_t row)
{
	return search_first(i, 0, s->items.count, s->items.items[i].row >= row);
}

struct wait_range wait_shares_of(const struct wait_shares *s, uint32_t row)
{
	size_t first = first_of(s, row), behind = first_of(s, (uint64_t)row + 1);

	if (first == behind)
		return (struct wait_range){0};
	return (struct wait_range){s->items.items + first, behind - first};
}
