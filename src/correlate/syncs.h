/* SPDX-License-Identifier: MIT */
/*
 * Waits for the GPU that cannot be written yet, and the records of CUDA events that they may be about.
 *
 * A wait needs its call (whose thread and stack it has) and, when it is one for an event, the record of that event: the
 * stream it was recorded in. Either may be told later than the wait. So a wait is for one thing at a time:
 *
 *	new --> for its call --> for its event's record --> taken out again
 *
 * Memory is bounded: SYNCS_MAX waits, of which the oldest goes when there is no room, and the newest EVENT_RECORDS_MAX
 * records, all of it allocated when the first comes. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "profile/gpu_events.h"

#define SYNCS_MAX	  4096u
#define EVENT_RECORDS_MAX 16384u

struct waiting_sync {
	struct profile_sync sync; /* as far as it is known */
	uint64_t event_serial;
	uint32_t event;
	bool used;
	bool called; /* its call is known */
	uint32_t older; /* the next one that waits for the same; its number + 1, 0: none */
};

struct event_record {
	struct gpu_event_record told;
	uint32_t older; /* of the same event; its number + 1, 0: none */
};

struct syncs {
	struct waiting_sync *waiting; /* a ring */
	uint32_t first, count;	      /* numbers go on, places are modulo SYNCS_MAX */
	struct map by_call, by_event; /* the newest's number */
	struct event_record *records; /* a ring */
	uint32_t record_count;	      /* ever */
	struct map last_record;	      /* of an event: its number */
};

void syncs_release(struct syncs *s);

/* Takes in a wait for its call, or, when `called`, for its event. 0 or -ENOMEM. There must be room. */
int syncs_add(struct syncs *s, const struct waiting_sync *w);
bool syncs_are_full(const struct syncs *s);
/* Takes one out: the oldest; one of this call; one that waits for this record. False: there is none. */
bool syncs_take_oldest(struct syncs *s, struct waiting_sync *ret);
bool syncs_take_called(struct syncs *s, uint32_t instance, uint32_t correlation,
	struct waiting_sync *ret);
bool syncs_take_recorded(struct syncs *s, const struct gpu_event_record *e,
	struct waiting_sync *ret);
/* One of this instance, or (0) of any. */
bool syncs_take_of(struct syncs *s, uint32_t instance, struct waiting_sync *ret);

/* 0 or -ENOMEM. */
int syncs_add_record(struct syncs *s, const struct gpu_event_record *e);
/* The record that this is a wait for; NULL: it is not known. Valid until the next one is added. */
const struct gpu_event_record *syncs_find_record(
	const struct syncs *s, const struct waiting_sync *w);
