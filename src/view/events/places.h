/* SPDX-License-Identifier: MIT */
/*
 * Where each event of a profile stands in a tree of frames: event_nodes.h for events that come one
 * by one. The same few come again and again: each is looked up once, and then remembered.
 *
 * Use after the last event was read, when names are final. Owned by the caller; holds on to reader
 * and options.
 */
#pragma once

#include "view/fold/event_nodes.h"

struct place_slot;

struct event_places {
	struct tree *tree;
	struct event_nodes nodes;
	struct place_slot *slots; /* a hash table, at most 2/3 full */
	size_t used, mask;
};

/* 0 or -errno with error_text; release it in either case. */
int event_places_init(
	struct event_places *p, const struct profile_reader *r, const struct view_options *o);
void event_places_release(struct event_places *p);

/* The node of an event in `tree`: of a call of a GPU API, that of the call. */
int event_places_find(struct event_places *p, const struct profile_event *e, uint32_t *ret_node);
/* Prefetches it, for event_places_find a few events later. */
void event_places_expect(const struct event_places *p, const struct profile_event *e);
