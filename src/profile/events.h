/* SPDX-License-Identifier: MIT */
/*
 * Events as bytes. Writer and reader each keep one event_coder in the same state: it holds what the
 * next event is coded against, and starts afresh with every chunk, so that a chunk can be read on
 * its own.
 *
 *	+------+------+--------- - - -+
 *	| size | head | fields        |      size: bytes after it; head: kind | flags << 3
 *	+------+------+--------- - - -+
 *
 * docs/file-format.md lists the fields. Nearly all work follows a call of the same chunk; such work
 * does not repeat thread, stack, API and launch time but says "as my call": both sides keep the
 * chunk's calls in a table of CALL_SLOTS, each in the slot its correlation id hashes to, the last
 * one winning.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "profile/entries.h"
#include "profile/model.h"

/* No event is longer, its size included. */
#define EVENT_MAX_BYTES 128 /* but for the bytes of what was found */

#define CALL_SLOTS 4096

/* The last of enum profile_event_kind. */
#define EVENT_LAST EVENT_FOUND

struct call_slot {
	uint64_t start_ns;
	uint32_t thread, stack, api;
	uint32_t instance, correlation;
	uint32_t chunk; /* in which it was filled */
};

struct event_coder {
	uint32_t chunk; /* counts chunks, so that slots need not be cleared */
	uint32_t instance;
	uint64_t period_ns;
	uint64_t graph_node;
	uint64_t grid;			      /* the last that was given */
	uint64_t job;			      /* the last that was given */
	uint64_t base_ns[EVENT_LAST + 1];     /* start of the last event, by kind */
	uint32_t correlation[EVENT_LAST + 1]; /* of the last event, by kind */
	struct profile_stall stall;	      /* the last one */
	struct profile_count count;	      /* the last one */
	struct profile_driver driver;	      /* the last one */
	uint32_t waiting;		      /* thread of the last wait */
	uint32_t marking, domain;	      /* thread and domain of the last marker */
	struct profile_found found;	      /* the last one */
	struct call_slot slots[CALL_SLOTS];
};

/* Forgets everything: to be called at the start of every chunk. */
void event_coder_reset(struct event_coder *c);

/* True when its ids lie within `counts` (of the tables) and its enums are known. */
bool sample_is_valid(const struct profile_sample *s, const uint32_t counts[TABLE_COUNT]);
bool call_is_valid(const struct profile_call *c, const uint32_t counts[TABLE_COUNT]);
bool work_is_valid(const struct profile_work *w, const uint32_t counts[TABLE_COUNT]);
bool pending_is_valid(const struct profile_pending *p, const uint32_t counts[TABLE_COUNT]);
bool stall_is_valid(const struct profile_stall *s, const uint32_t counts[TABLE_COUNT]);
/* A value must be finite as well. */
bool count_is_valid(const struct profile_count *c, const uint32_t counts[TABLE_COUNT]);
/* A moment must have no duration. */
bool driver_is_valid(const struct profile_driver *d, const uint32_t counts[TABLE_COUNT]);
bool wait_is_valid(const struct profile_wait *w, const uint32_t counts[TABLE_COUNT]);
bool life_is_valid(const struct profile_life *l, const uint32_t counts[TABLE_COUNT]);
bool sync_is_valid(const struct profile_sync *s, const uint32_t counts[TABLE_COUNT]);
/* A moment must have no duration. */
bool marker_is_valid(const struct profile_marker *m, const uint32_t counts[TABLE_COUNT]);
bool found_is_valid(const struct profile_found *f, const uint32_t counts[TABLE_COUNT]);
bool event_is_valid(const struct profile_event *e, const uint32_t counts[TABLE_COUNT]);

/* Writes at most EVENT_MAX_BYTES; returns a pointer behind them. */
uint8_t *event_encode_sample(struct event_coder *c, const struct profile_sample *s, uint8_t *p);
uint8_t *event_encode_call(struct event_coder *c, const struct profile_call *call, uint8_t *p);
uint8_t *event_encode_work(struct event_coder *c, const struct profile_work *w, uint8_t *p);
uint8_t *event_encode_pending(
	struct event_coder *c, const struct profile_pending *pending, uint8_t *p);
uint8_t *event_encode_stall(struct event_coder *c, const struct profile_stall *s, uint8_t *p);
uint8_t *event_encode_count(struct event_coder *c, const struct profile_count *count, uint8_t *p);
uint8_t *event_encode_driver(struct event_coder *c, const struct profile_driver *d, uint8_t *p);
uint8_t *event_encode_wait(struct event_coder *c, const struct profile_wait *w, uint8_t *p);
uint8_t *event_encode_life(struct event_coder *c, const struct profile_life *l, uint8_t *p);
uint8_t *event_encode_sync(struct event_coder *c, const struct profile_sync *s, uint8_t *p);
uint8_t *event_encode_marker(struct event_coder *c, const struct profile_marker *m, uint8_t *p);

/* This one is longer by its bytes. */
uint8_t *event_encode_found(struct event_coder *c, const struct profile_found *f, uint8_t *p);

/* What event_decode may read beyond `end`. */
#define EVENT_READ_PAST 200

/*
 * Decodes the event at *p: 1, or 0 when it is of a kind not known here and was skipped, or -1 when
 * it makes no sense. Ids and enums are not checked yet.
 */
int event_decode(
	struct event_coder *c, const uint8_t **p, const uint8_t *end, struct profile_event *ret);
