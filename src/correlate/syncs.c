// SPDX-License-Identifier: MIT
/*
 * Both rings are addressed by numbers that go on for ever (modulo 2^32). What is behind a number is there as long as it
 * is among the newest; a chain that leads out of the ring ends there. A wait that is taken out leaves a hole, which
 * goes when it is the oldest.
 */
#include "correlate/syncs.h"

#include <errno.h>
#include <stdlib.h>

#define CHAIN_MAX 1024 /* records of one event that are looked at */

void syncs_release(struct syncs *s)
{
	free(s->waiting);
	free(s->records);
	map_release(&s->by_call);
	map_release(&s->by_event);
	map_release(&s->last_record);
	*s = (struct syncs){0};
}

static uint64_t key_of(uint32_t instance, uint32_t number)
{
	return (uint64_t)instance << 32 | number;
}

/* ------------------------------------------------------------------ waits */

static struct waiting_sync *at(const struct syncs *s, uint32_t number)
{
	struct waiting_sync *w;

	if (number - s->first >= s->count)
		return NULL;
	w = &s->waiting[number % SYNCS_MAX];
	return w->used ? w : NULL;
}

static struct map *map_of(struct syncs *s, const struct waiting_sync *w)
{
	return w->called ? &s->by_event : &s->by_call;
}

static uint64_t key_of_wait(const struct waiting_sync *w)
{
	return key_of(w->sync.instance, w->called ? w->event : w->sync.correlation);
}

bool syncs_are_full(const struct syncs *s)
{
	return s->count == SYNCS_MAX;
}

int syncs_add(struct syncs *s, const struct waiting_sync *w)
{
	uint32_t number = s->first + s->count;
	struct map *map = map_of(s, w);
	const uint64_t *same = map_get(map, key_of_wait(w));
	uint32_t older = same ? (uint32_t)*same + 1 : 0;
	struct waiting_sync *place;

	if (!s->waiting)
		s->waiting = calloc(SYNCS_MAX, sizeof(*s->waiting));
	if (!s->waiting || map_put(map, key_of_wait(w), number))
		return -ENOMEM;
	place = &s->waiting[number % SYNCS_MAX];
	*place = *w;
	place->used = true;
	place->older = older;
	s->count++;
	return 0;
}

/* Out of its chain, which is short: it begins at the newest. */
static void unlink_wait(struct syncs *s, uint32_t number, const struct waiting_sync *w)
{
	struct map *map = map_of(s, w);
	uint64_t *newest = map_get(map, key_of_wait(w));
	uint32_t next = newest ? (uint32_t)*newest : number;

	if (next == number) {
		if (newest && w->older && at(s, w->older - 1))
			*newest = w->older - 1;
		else
			map_remove(map, key_of_wait(w), NULL);
		return;
	}
	for (struct waiting_sync *v = at(s, next); v; v = v->older ? at(s, v->older - 1) : NULL)
		if (v->older == number + 1) {
			v->older = w->older;
			return;
		}
}

static void take(struct syncs *s, uint32_t number, struct waiting_sync *ret)
{
	struct waiting_sync *w = at(s, number);

	unlink_wait(s, number, w);
	*ret = *w;
	w->used = false;
	while (s->count && !s->waiting[s->first % SYNCS_MAX].used) {
		s->first++;
		s->count--;
	}
}

bool syncs_take_oldest(struct syncs *s, struct waiting_sync *ret)
{
	if (!s->count)
		return false;
	take(s, s->first, ret);
	return true;
}

bool syncs_take_called(struct syncs *s, uint32_t instance, uint32_t correlation,
	struct waiting_sync *ret)
{
	const uint64_t *newest;

	if (!s->count)
		return false;
	newest = map_get(&s->by_call, key_of(instance, correlation));
	if (!newest)
		return false;
	take(s, (uint32_t)*newest, ret);
	return true;
}

/* Whether the wait can be for this record of its event. Calls are numbered in the order in which they begin. */
static bool matches(const struct waiting_sync *w, const struct gpu_event_record *e)
{
	if (w->event_serial)
		return w->event_serial == e->event_serial;
	return (int32_t)(w->sync.correlation - e->correlation) > 0;
}

bool syncs_take_recorded(struct syncs *s, const struct gpu_event_record *e,
	struct waiting_sync *ret)
{
	const uint64_t *newest;
	uint32_t number;

	if (!s->count)
		return false;
	newest = map_get(&s->by_event, key_of(e->instance, e->event));
	if (!newest)
		return false;
	number = (uint32_t)*newest;
	for (struct waiting_sync *w = at(s, number); w; w = at(s, number)) {
		if (matches(w, e)) {
			take(s, number, ret);
			return true;
		}
		if (!w->older)
			break;
		number = w->older - 1;
	}
	return false;
}

bool syncs_take_of(struct syncs *s, uint32_t instance, struct waiting_sync *ret)
{
	for (uint32_t n = 0; n < s->count; n++) {
		const struct waiting_sync *w = at(s, s->first + n);

		if (w && (!instance || w->sync.instance == instance)) {
			take(s, s->first + n, ret);
			return true;
		}
	}
	return false;
}

/* ------------------------------------------------------------------ records of events */

static struct event_record *record_at(const struct syncs *s, uint32_t number)
{
	uint32_t age = s->record_count - number;

	return age && age <= EVENT_RECORDS_MAX && s->records
		? &s->records[number % EVENT_RECORDS_MAX]
		: NULL;
}

/* The place that comes next: forgets what is in it. */
static void make_room(struct syncs *s)
{
	const struct event_record *oldest = &s->records[s->record_count % EVENT_RECORDS_MAX];
	uint64_t key = key_of(oldest->told.instance, oldest->told.event);
	const uint64_t *last = map_get(&s->last_record, key);

	if (last && (uint32_t)*last == s->record_count - EVENT_RECORDS_MAX)
		map_remove(&s->last_record, key, NULL);
}

int syncs_add_record(struct syncs *s, const struct gpu_event_record *e)
{
	uint64_t key = key_of(e->instance, e->event);
	const uint64_t *last;
	struct event_record record = {.told = *e};

	if (!s->records)
		s->records = calloc(EVENT_RECORDS_MAX, sizeof(*s->records));
	if (!s->records)
		return -ENOMEM;
	make_room(s);
	last = map_get(&s->last_record, key);
	record.older = last ? (uint32_t)*last + 1 : 0;
	if (map_put(&s->last_record, key, s->record_count))
		return -ENOMEM;
	s->records[s->record_count++ % EVENT_RECORDS_MAX] = record;
	return 0;
}

const struct gpu_event_record *syncs_find_record(
	const struct syncs *s, const struct waiting_sync *w)
{
	const uint64_t *last = map_get(&s->last_record, key_of(w->sync.instance, w->event));
	uint32_t number = last ? (uint32_t)*last + 1 : 0;

	for (int n = 0; number && n < CHAIN_MAX; n++) {
		const struct event_record *e = record_at(s, number - 1);

		if (!e)
			break;
		if (matches(w, &e->told))
			return &e->told;
		number = e->older;
	}
	return NULL;
}
