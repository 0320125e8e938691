/* SPDX-License-Identifier: MIT */
/*
 * The rows of a time axis: of each thread what it ran, what it waited for and what it called, of
 * each stream its work, of each device its counters, of each ring of a GPU's driver its jobs; of
 * each thread its markers, and numbers that were written down beside the recording (counters of no
 * device).
 *
 * A row's number is the order in which rows come up in the recording: the same in every reading.
 */
#pragma once

#include "base/buf.h"
#include "base/map.h"
#include "base/vec.h"
#include "profile/reader.h"

enum timeline_kind {
	TIMELINE_RUN = 0, /* CPU samples of a thread */
	TIMELINE_WAITS,	  /* when it did not run */
	TIMELINE_CALLS,	  /* its calls of a GPU API */
	TIMELINE_WORK,	  /* of a stream */
	TIMELINE_COUNTER, /* of a device */
	TIMELINE_DRIVER,  /* what its driver says of a ring */
	TIMELINE_MARKERS, /* what a thread gave a name */
	TIMELINE_KINDS
};

/* What is not of its kind is 0. */
struct timeline_row {
	enum timeline_kind kind;
	uint32_t process;	  /* whose context it is */
	uint32_t thread;	  /* id */
	uint32_t device;	  /* id */
	uint32_t context, stream; /* as in profile_op */
	uint32_t counter;	  /* id */
	uint32_t source, ring;	  /* strings */
	uint32_t depth;		  /* of markers: how many lie in one another (nesting.h) */
	uint64_t count;		  /* of its events */
	uint64_t time_ns;	  /* of all of them */
};

struct timeline_rows {
	struct vec(struct timeline_row) items;
	struct map of_thread;  /* thread << 8 | kind -> number */
	struct map of_op;      /* op -> number */
	struct map of_stream;  /* hash of process, device, context, stream -> number */
	struct map of_counter; /* device << 32 | counter -> number */
	struct map of_ring;    /* source << 32 | ring -> number */
};

void timeline_rows_release(struct timeline_rows *r);
/* The row of an event, added when it is new: 1, 0 for an event that is on no row, or -ENOMEM with
 * error_text. */
int timeline_rows_of(struct timeline_rows *rows, const struct profile_reader *r,
	const struct profile_event *e, uint32_t *ret);

/* "run", "waits", "calls", "work", "counter", "driver", "marker" */
const char *timeline_kind_name(enum timeline_kind kind);
/* Appends what a row is called under its process, thread or device: "stream 7", "calls". */
void timeline_row_name(
	const struct profile_reader *r, const struct timeline_row *row, struct buf *b);
