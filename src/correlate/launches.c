// SPDX-License-Identifier: MIT
/*
 * Launches are items of one array, linked into their lists by number; an index of numbers and
 * hashes is beside it, with linear probing and deletion by shifting back.
 *
 * Nearly all time goes into waiting for memory. So a hash is compared before the launch behind it
 * is touched, and the lowest bits of the correlation id stay as they are: ids that follow each
 * other, as those of one batch do, share a cache line of the index. They crowd it, too, which is
 * why so much of the index is left free.
 */
#include "correlate/launches.h"

#include <errno.h>
#include <stdlib.h>

#include "base/hash.h"

/* The slots of a cache line, less 1. */
#define LINE_MASK 7u

_Static_assert(sizeof(struct launch) <= 48, "a launch takes more memory than it should");

int launches_init(struct launches *l, size_t max)
{
	size_t slots = LINE_MASK + 1;

	*l = (struct launches){.max = max};
	if (max > UINT32_MAX / 4)
		return -ENOMEM;
	while (slots < 4 * max)
		slots *= 2;
	l->index_mask = slots - 1;
	l->items = calloc(max, sizeof(*l->items));
	l->index = calloc(slots, sizeof(*l->index));
	if (l->items && l->index)
		return 0;
	launches_release(l);
	return -ENOMEM;
}

void launches_release(struct launches *l)
{
	free(l->items);
	free(l->index);
	*l = (struct launches){0};
}

bool launches_are_full(const struct launches *l)
{
	return l->count[LAUNCH_WAITING] + l->count[LAUNCH_DONE] == l->max;
}

static struct launch *launch_at(const struct launches *l, uint32_t number)
{
	return number ? &l->items[number - 1] : NULL;
}

static uint32_t number_of(const struct launches *l, const struct launch *launch)
{
	return (uint32_t)(launch - l->items) + 1;
}

static uint32_t hash_of(uint32_t instance, uint32_t correlation)
{
	uint64_t line = (uint64_t)instance << 32 | (correlation & ~LINE_MASK);

	return ((uint32_t)hash_u64(line) & ~LINE_MASK) | (correlation & LINE_MASK);
}

/* The slot that holds it, or the free one where it would go. */
static struct launch_slot *find_slot(
	const struct launches *l, uint32_t instance, uint32_t correlation, uint32_t hash)
{
	for (size_t i = hash & l->index_mask;; i = (i + 1) & l->index_mask) {
		struct launch_slot *slot = &l->index[i];
		const struct launch *launch = launch_at(l, slot->number);

		if (!launch || (slot->hash == hash && launch->correlation == correlation &&
				       launch->instance == instance))
			return slot;
	}
}

struct launch *launches_find(const struct launches *l, uint32_t instance, uint32_t correlation)
{
	uint32_t hash = hash_of(instance, correlation);

	return launch_at(l, find_slot(l, instance, correlation, hash)->number);
}

/* Moves later members of the probe run back into the gap, so that look-ups never meet a false
 * end. */
static void close_gap(struct launches *l, size_t gap)
{
	size_t i = gap;

	for (;;) {
		i = (i + 1) & l->index_mask;
		if (!l->index[i].number)
			break;
		if (((i - l->index[i].hash) & l->index_mask) < ((i - gap) & l->index_mask))
			continue;
		l->index[gap] = l->index[i];
		gap = i;
	}
	l->index[gap].number = 0;
}

static void link_newest(struct launches *l, struct launch *launch, enum launch_list list)
{
	uint32_t number = number_of(l, launch);
	struct launch *older = launch_at(l, l->newest[list]);

	launch->list = list;
	launch->older = l->newest[list];
	launch->newer = 0;
	if (older)
		older->newer = number;
	else
		l->oldest[list] = number;
	l->newest[list] = number;
	l->count[list]++;
}

static void unlink_launch(struct launches *l, struct launch *launch)
{
	struct launch *older = launch_at(l, launch->older), *newer = launch_at(l, launch->newer);

	if (older)
		older->newer = launch->newer;
	else
		l->oldest[launch->list] = launch->newer;
	if (newer)
		newer->older = launch->older;
	else
		l->newest[launch->list] = launch->older;
	l->count[launch->list]--;
}

struct launch *launches_add(
	struct launches *l, uint32_t instance, uint32_t correlation, enum launch_list list)
{
	uint32_t hash = hash_of(instance, correlation);
	struct launch *launch = launch_at(l, l->free);

	if (launch)
		l->free = launch->newer;
	else
		launch = &l->items[l->fresh++];
	*launch = (struct launch){.instance = instance, .correlation = correlation};
	*find_slot(l, instance, correlation, hash) =
		(struct launch_slot){.number = number_of(l, launch), .hash = hash};
	link_newest(l, launch, list);
	return launch;
}

void launches_move(struct launches *l, struct launch *launch, enum launch_list list)
{
	unlink_launch(l, launch);
	link_newest(l, launch, list);
}

void launches_remove(struct launches *l, struct launch *launch)
{
	uint32_t hash = hash_of(launch->instance, launch->correlation);

	unlink_launch(l, launch);
	close_gap(
		l, (size_t)(find_slot(l, launch->instance, launch->correlation, hash) - l->index));
	launch->newer = l->free;
	l->free = number_of(l, launch);
}

struct launch *launches_oldest(const struct launches *l, enum launch_list list)
{
	return launch_at(l, l->oldest[list]);
}

struct launch *launches_next(const struct launches *l, const struct launch *launch)
{
	return launch_at(l, launch->newer);
}
