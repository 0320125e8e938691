/* SPDX-License-Identifier: MIT */
/*
 * A part of a recording: some stretches of its time, some of its threads, some of its devices.
 *
 *	work      |-------------|          |----|
 *	spans         [------------)   [----------------)
 *	pieces        |---------|          |----|
 *	          continued                counts here
 *
 * What lasts is cut at the edges of the spans. Each piece has its own length, and the event counts
 * with the piece that has its begin (struct profile_cut). What has one time is in the part or not.
 * So the pieces that any division of the time has add up to the whole.
 *
 * What a reader divides by the whole recording (samples among a thread's account, weights of
 * bursts) is divided before it is cut. So have those to do who divide something themselves: they
 * read the whole recording, and ask here what of it to show.
 */
#pragma once

#include "profile/model.h"

/* [from_ns, to_ns) */
struct profile_span {
	uint64_t from_ns, to_ns;
};

struct chunk_times;
struct profile_reader;

struct profile_clip {
	const struct profile_span *spans; /* in their order, apart from each other */
	size_t span_count;
	/* By id, which of them; NULL: all. What is of no thread has id 0. */
	const bool *threads;
	size_t thread_count;
	const bool *devices;
	size_t device_count;
	/* Of the file that is read, what has none of the time is passed over. NULL: all is read. */
	const struct chunk_times *chunks;
	uint64_t events; /* of the whole recording */
	/* Events come whole, and some that are outside as well: only the file is passed over. */
	bool uncut;
};

/* All take NULL for the whole recording. */
bool clip_has_time(const struct profile_clip *c, uint64_t time_ns);
bool clip_has_thread(const struct profile_clip *c, uint32_t thread);
bool clip_has_device(const struct profile_clip *c, uint32_t device);
/* How much of [start_ns, end_ns) is in the spans. */
uint64_t clip_inside(const struct profile_clip *c, uint64_t start_ns, uint64_t end_ns);
/* Moves both into the spans, from the first of it to the last; *end_ns is *start_ns where nothing
 * is left. Not NULL. */
void clip_hull(const struct profile_clip *c, uint64_t *start_ns, uint64_t *end_ns);
/* How much of an amount that is spread evenly over [start_ns, end_ns); all of it at the end where
 * that is nothing. */
uint64_t clip_share(
	const struct profile_clip *c, uint64_t start_ns, uint64_t end_ns, uint64_t amount);
/* Edges of spans are numbered in the order of time. How many are at or before a time: an odd number
 * in a span. */
size_t clip_edges_before(const struct profile_clip *c, uint64_t time_ns);
/* Whether nothing of the chunk that begins there is needed. */
bool clip_skips_chunk(const struct profile_clip *c, uint64_t chunk);
/* Whether an event is of the threads and devices. What is of no thread is of none that were chosen;
 * samples of instructions are of all, as it takes more than the event to know. */
bool clip_selects(const struct profile_clip *c, const struct profile_reader *r,
	const struct profile_event *e);
/* The next piece of an event in the spans. *span is where to look, 0 at first. False: no more. */
bool clip_next_piece(const struct profile_clip *c, const struct profile_event *e, size_t *span,
	struct profile_event *ret);
