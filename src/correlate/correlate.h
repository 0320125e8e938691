/* SPDX-License-Identifier: MIT */
/*
 * Joins, and writes the joined events to the profile as they become whole:
 *
 *	launches          with the GPU work they asked for, by (instance, correlation id)
 *	graph work        with the stack that made its node, and the stream that its graph was launched into
 *	waits for events  with the streams in which these were recorded
 *
 * The caller promises an order: a launch, if there is one, comes before the call and the work with
 * its id (the recorder drains markers first; see docs/architecture.md), and the record of an event
 * before calls that wait for it. Call and work may come in either order and any number of works may
 * follow one call. (Work of a graph that comes before the call that launched it has returned does
 * not get the stream.)
 *
 * Memory is bounded: finished launches are kept for a while in case more work follows, then
 * forgotten oldest first; work that comes for a forgotten one is written with JOIN_LATE, a
 * forgotten launch without work as PENDING_FORGOTTEN. Nothing is dropped without an event or a
 * count: records with impossible times or kinds are LOSS_GPU_INVALID, graph nodes beyond what can
 * be remembered LOSS_GPU_NODES_FORGOTTEN. One thread at a time.
 */
#pragma once

#include "profile/gpu_events.h"
#include "profile/writer.h"

struct correlator;

struct correlator_options {
	bool have_markers;   /* launch stacks are being recorded; else joins say JOIN_NO_CPU_SIDE */
	size_t max_launches; /* remembered at once; 0: the default */
};

int correlator_new(struct correlator **ret, struct profile_writer *w,
	const struct correlator_options *options);
void correlator_free(struct correlator *c);

/* Before the first event: there will be no launch stacks after all. */
void correlator_expect_no_markers(struct correlator *c);

/* What to hand to the sources. Valid as long as the correlator. */
struct gpu_events correlator_events(struct correlator *c);

/* Writes what is still unmatched (PENDING_*). Call once, after the sources were stopped and
 * drained. */
int correlator_finish(struct correlator *c);

/* Launches waiting for work now (for the status line). */
uint64_t correlator_outstanding(const struct correlator *c);
