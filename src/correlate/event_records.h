/* SPDX-License-Identifier: MIT */
/*
 * In which streams events of a GPU API were recorded, and when: this is what a wait for an event
 * waits for.
 *
 * Memory is bounded: the newest EVENT_RECORDS_MAX records are kept, in a ring that is allocated
 * when the first comes. One thread.
 */
#pragma once

#include <stdint.h>

#include "base/map.h"
#include "profile/gpu_events.h"

#define EVENT_RECORDS_MAX 16384u

struct event_record {
	struct gpu_event_record record;
	uint32_t older; /* of the same event; its number + 1, 0: none */
};

struct event_records {
	struct event_record *ring; /* by number modulo its size */
	uint32_t count;		   /* ever: the next one's number */
	struct map last;	   /* by hash of instance and event: the newest one's number */
};

void event_records_release(struct event_records *r);

/* 0 or -ENOMEM. */
int event_records_add(struct event_records *r, const struct gpu_event_record *e);
/* The last record of this event before `time_ns`; NULL: none is known. Valid until the next one is
 * added. */
const struct gpu_event_record *event_records_find(
	const struct event_records *r, uint32_t instance, uint64_t event, uint64_t time_ns);
