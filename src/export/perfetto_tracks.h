/* SPDX-License-Identifier: MIT */
/*
 * Tracks of a Perfetto trace: processes and threads as such, GPUs, their streams, what threads did
 * besides calls, GPU drivers and hardware counters. Each is described when it is first asked for.
 *
 * Owned by the caller; holds on to rows and packets. Both: 0 or -errno with error_text.
 */
#pragma once

#include "base/map.h"
#include "export/perfetto_packets.h"
#include "view/events/rows.h"

struct tracks {
	struct packets *packets;
	const struct event_rows *rows;
	uint64_t last;
	struct vec(uint64_t) by_row; /* 0: not described */
	struct map of;		     /* by kind and number */
	struct buf text;
};

void tracks_release(struct tracks *t);
/* Of a row's events; calls are on the track of their thread. */
int track_of_row(struct tracks *t, uint32_t row, uint64_t *ret);
/* Of a thread and its process, for samples, which name them. */
int track_of_thread(struct tracks *t, const struct profile_thread *thread, uint64_t *ret);
int track_of_counter(struct tracks *t, uint32_t device, uint32_t counter, uint64_t *ret);
/* Of what is said of the recording. */
int track_of_facts(struct tracks *t, uint64_t *ret);
