// SPDX-License-Identifier: MIT
/*
 * Records are numbered as they come (modulo 2^32), and only the newest are kept. Each names the one
 * before it with the same hash, so a chain ends where it leads out of the ring.
 */
#include "correlate/event_records.h"

#include <errno.h>
#include <stdlib.h>

#include "base/hash.h"

#define CHAIN_MAX 1024 /* records that are looked at for one wait */

void event_records_release(struct event_records *r)
{
	free(r->ring);
	map_release(&r->last);
	*r = (struct event_records){0};
}

static uint64_t key_of(uint32_t instance, uint64_t event)
{
	return hash_combine(event, instance);
}

static struct event_record *at(const struct event_records *r, uint32_t number)
{
	uint32_t age = r->count - number;

	return age && age <= EVENT_RECORDS_MAX ? &r->ring[number % EVENT_RECORDS_MAX] : NULL;
}

/* Forgets the record whose slot of the ring comes next. */
static void make_room(struct event_records *r)
{
	uint32_t number = r->count - EVENT_RECORDS_MAX;
	const struct event_record *oldest = at(r, number);
	uint64_t key = key_of(oldest->record.instance, oldest->record.event);
	const uint64_t *last = map_get(&r->last, key);

	if (last && (uint32_t)*last == number)
		map_remove(&r->last, key, NULL);
}

int event_records_add(struct event_records *r, const struct gpu_event_record *e)
{
	uint64_t key = key_of(e->instance, e->event);
	struct event_record kept = {.record = *e};
	const uint64_t *last;

	if (!r->ring)
		r->ring = calloc(EVENT_RECORDS_MAX, sizeof(*r->ring));
	if (!r->ring)
		return -ENOMEM;
	make_room(r);
	last = map_get(&r->last, key);
	kept.older = last ? (uint32_t)*last + 1 : 0;
	if (map_put(&r->last, key, r->count))
		return -ENOMEM;
	r->ring[r->count++ % EVENT_RECORDS_MAX] = kept;
	return 0;
}

const struct gpu_event_record *event_records_find(
	const struct event_records *r, uint32_t instance, uint64_t event, uint64_t time_ns)
{
	const uint64_t *last = map_get(&r->last, key_of(instance, event));
	uint32_t number = last ? (uint32_t)*last + 1 : 0;

	for (int n = 0; number && n < CHAIN_MAX; n++) {
		const struct event_record *e = at(r, number - 1);

		if (!e)
			break;
		if (e->record.instance == instance && e->record.event == event &&
			e->record.time_ns <= time_ns)
			return &e->record;
		number = e->older;
	}
	return NULL;
}
