// SPDX-License-Identifier: MIT
/*
 * Places in one array, of 48 bytes each, linked into their lists by number; an index of place
 * numbers beside it, with linear probing and deletion by shifting back.
 */
#include "correlate/launches.h"

#include <errno.h>
#include <stdlib.h>

#include "base/hash.h"

_Static_assert(sizeof(struct launch) <= 48, "a launch takes more memory than it should");

int launches_init(struct launches *l, size_t max)
{
	size_t slots = 2;

	*l = (struct launches){.max = max};
	if (max > UINT32_MAX / 4)
		return -ENOMEM;
	while (slots < 2 * max)
		slots *= 2;
	l->index_mask = slots - 1;
	l->places = calloc(max, sizeof(*l->places));
	l->index = calloc(slots, sizeof(*l->index));
	if (l->places && l->index)
		return 0;
	launches_release(l);
	return -ENOMEM;
}

void launches_release(struct launches *l)
{
	free(l->places);
	free(l->index);
	*l = (struct launches){0};
}

bool launches_are_full(const struct launches *l)
{
	return l->count[LAUNCH_WAITING] + l->count[LAUNCH_DONE] == l->max;
}

static struct launch *at_place(const struct launches *l, uint32_t place)
{
	return place ? &l->places[place - 1] : NULL;
}

static uint32_t place_of(const struct launches *l, const struct launch *launch)
{
	return (uint32_t)(launch - l->places) + 1;
}

static size_t home_slot(const struct launches *l, uint32_t instance, uint32_t correlation)
{
	return hash_u64((uint64_t)instance << 32 | correlation) & l->index_mask;
}

/* The slot that holds it, or the free one where it would go. */
static size_t find_slot(const struct launches *l, uint32_t instance, uint32_t correlation)
{
	size_t slot = home_slot(l, instance, correlation);
	const struct launch *launch;

	while ((launch = at_place(l, l->index[slot]))) {
		if (launch->correlation == correlation && launch->instance == instance)
			break;
		slot = (slot + 1) & l->index_mask;
	}
	return slot;
}

struct launch *launches_find(const struct launches *l, uint32_t instance, uint32_t correlation)
{
	return at_place(l, l->index[find_slot(l, instance, correlation)]);
}

/* Moves later members of the probe run back into the gap, so that look-ups never meet a false
 * end. */
static void close_gap(struct launches *l, size_t gap)
{
	const struct launch *launch;
	size_t slot = gap, home;

	for (;;) {
		slot = (slot + 1) & l->index_mask;
		launch = at_place(l, l->index[slot]);
		if (!launch)
			break;
		home = home_slot(l, launch->instance, launch->correlation);
		if (((slot - home) & l->index_mask) < ((slot - gap) & l->index_mask))
			continue;
		l->index[gap] = l->index[slot];
		gap = slot;
	}
	l->index[gap] = 0;
}

static void link_newest(struct launches *l, struct launch *launch, enum launch_list list)
{
	uint32_t place = place_of(l, launch);
	struct launch *older = at_place(l, l->newest[list]);

	launch->list = list;
	launch->older = l->newest[list];
	launch->newer = 0;
	if (older)
		older->newer = place;
	else
		l->oldest[list] = place;
	l->newest[list] = place;
	l->count[list]++;
}

static void unlink_launch(struct launches *l, struct launch *launch)
{
	struct launch *older = at_place(l, launch->older), *newer = at_place(l, launch->newer);

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

struct launch *launches_add(struct launches *l, uint32_t instance, uint32_t correlation,
	enum launch_list list)
{
	struct launch *launch = at_place(l, l->free);

	if (launch)
		l->free = launch->newer;
	else
		launch = &l->places[l->fresh++];
	*launch = (struct launch){.instance = instance, .correlation = correlation};
	l->index[find_slot(l, instance, correlation)] = place_of(l, launch);
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
	unlink_launch(l, launch);
	close_gap(l, find_slot(l, launch->instance, launch->correlation));
	launch->newer = l->free;
	l->free = place_of(l, launch);
}

struct launch *launches_oldest(const struct launches *l, enum launch_list list)
{
	return at_place(l, l->oldest[list]);
}

struct launch *launches_next(const struct launches *l, const struct launch *launch)
{
	return at_place(l, launch->newer);
}
