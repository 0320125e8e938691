/* SPDX-License-Identifier: MIT */
/*
 * Events of a Perfetto trace that have a duration: a packet with the begin, and one with the end.
 *
 * Owned by the caller; holds on to reader, rows, tracks and packets. All: 0 or -errno with
 * error_text.
 */
#pragma once

#include "export/perfetto_tracks.h"

struct op_event;

struct slices {
	const struct profile_reader *reader;
	struct event_rows *rows;
	struct tracks *tracks;
	struct packets *packets;
	unsigned int shows;		 /* VIEW_SHOWS_*: arrows are only where both ends are */
	bool any;			 /* there are some */
	struct vec(struct op_event) ops; /* by op id */
	struct vec(uint32_t) calls;	 /* by string of the API: name, or 0 */
	struct buf text, name;
};

void slices_release(struct slices *s);
/* The number of a name of events, made readable. */
uint32_t slices_name(struct slices *s, const char *name);

/* `stack`: the node of the event. */
int slices_work(struct slices *s, const struct profile_event *e, const struct event_span *span,
	uint32_t stack);
int slices_call(struct slices *s, const struct profile_event *e, const struct event_span *span,
	uint32_t stack);
int slices_wait(struct slices *s, const struct profile_event *e, const struct event_span *span,
	uint32_t stack);
int slices_sync(struct slices *s, const struct profile_event *e, const struct event_span *span,
	uint32_t stack);
int slices_marker(struct slices *s, const struct profile_event *e, const struct event_span *span);
/* Moments of drivers as well. */
int slices_driver(struct slices *s, const struct profile_event *e, const struct event_span *span);
