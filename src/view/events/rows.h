/* SPDX-License-Identifier: MIT */
/*
 * Rows of a timeline: what each thread did, by kind, and what each stream of a GPU did. Events of a
 * row never overlap: those that would (branches of a graph) go to further rows, its lanes.
 *
 * Events should come in the order in which they began (order.h); any other order only makes more
 * lanes. Owned by the caller; holds on to the reader.
 */
#pragma once

#include "base/buf.h"
#include "base/vec.h"
#include "view/events/order.h"
#include "view/names/device.h"

enum event_row_kind {
	ROW_SAMPLES = 0, /* where samples saw a thread on a CPU */
	ROW_CALLS,
	ROW_WAITS,     /* a thread did not run */
	ROW_GPU_WAITS, /* it waited for the GPU */
	ROW_MARKERS,   /* stretches of time that it gave names */
	ROW_WORK,      /* of a stream */
	ROW_DRIVER,    /* of a ring of a GPU driver, and one kind of event */
	ROW_KINDS
};

struct event_row {
	enum event_row_kind kind;
	unsigned int lane; /* from 0 on */
	uint64_t end_ns;   /* of its last event */
	uint32_t thread;   /* of the first five kinds; 0: not known */
	/* of ROW_WORK; ROW_DRIVER: source and ring (strings), kind, 0 */
	uint32_t process, device, context, stream;
};

struct event_rows {
	const struct profile_reader *reader;
	struct device_numbers devices;
	struct interner *groups; /* what lanes belong together */
	struct vec(struct event_lanes *) lanes;
	struct vec(struct event_row) rows;
};

/* All: 0 or -errno with error_text. Release it in either case. */
int event_rows_init(struct event_rows *r, const struct profile_reader *reader);
void event_rows_release(struct event_rows *r);

/* The row of an event, an index of `rows`; counts and launches without work have none (-EINVAL). */
int event_rows_find(struct event_rows *r, const struct profile_event *e,
	const struct event_span *span, uint32_t *ret_row);

/* Appends "python3 4711 on CPU", "GPU 0 stream 7 (pid 4711, context 1) overlap 1". */
void event_row_name(const struct event_rows *r, uint32_t row, struct buf *b);
/* The process of a row of a thread; NULL: not known. */
const struct profile_process *event_row_process(
	const struct event_rows *r, const struct event_row *row);
