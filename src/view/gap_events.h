/* SPDX-License-Identifier: MIT */
/*
 * The events that gaps in GPU work are explained by, in lists by thread and time: what a thread did in a stretch of time is
 * looked up, not swept.
 *
 * Memory is bounded: of recordings with more than `most` events what comes later is left out, and cut_ns says from where on.
 */
#pragma once

#include <stdbool.h>

#include "base/map.h"
#include "base/vec.h"
#include "profile/reader.h"

#define GAP_EVENTS_MAX ((size_t)16 << 20) /* about 700 MiB of them */

struct gap_work {
	uint64_t start_ns, end_ns;
	uint64_t launch_ns; /* 0: not known */
	uint32_t device, process;
	uint32_t thread, stack; /* that launched it; 0: not known */
	uint32_t op;
	bool graph;
};

/* A wait, a call, or what a call waited for. */
struct gap_span {
	uint64_t start_ns, end_ns;
	uint32_t thread, stack;
	uint32_t waker;	 /* of waits: thread; 0: not known */
	uint32_t api;	 /* of calls: string */
	uint8_t reason;	 /* of waits */
	bool is_sync;	 /* of calls: it waits for the GPU */
	uint8_t kind;	 /* of what calls waited for: enum profile_sync_kind */
	uint32_t context, stream;
	uint64_t launched_ns; /* only work that was launched until then; 0: not known */
};

struct gap_sample {
	uint64_t time_ns, period_ns;
	uint32_t thread, stack;
};

struct gap_range {
	size_t first, end;
};

struct gap_life {
	uint64_t start_ns, end_ns; /* 0, 0: not told */
	bool launches;		   /* it asked for GPU work */
	struct gap_range waits, calls, syncs, samples;
};

struct gap_events {
	struct vec(struct gap_work) works;	/* by device and start */
	struct vec(struct gap_span) waits;	/* these by thread and start */
	struct vec(struct gap_span) calls;
	struct vec(struct gap_span) syncs; /* what the driver told of synchronizing calls */
	struct vec(struct gap_sample) samples;
	struct vec(struct gap_life) threads; /* by id */
	struct map copies; /* instance << 32 | correlation of calls whose copy has not come: index in calls */
	bool has_waits;	  /* they were recorded */
	uint64_t cut_ns;  /* 0: all events are here */
};

/* Reads from a reader that has read no event: 0 or -errno with error_text. Comes zeroed; release it in either case. */
int gap_events_read(struct gap_events *e, struct profile_reader *r, size_t most);
void gap_events_release(struct gap_events *e);

/* What a thread did in a stretch of time. The times add up to its length, as far as the thread was there. */
struct gap_doing {
	uint64_t sync_ns;		/* in synchronizing calls, asleep or not */
	uint64_t wait_ns[16];		/* by reason, elsewhere */
	uint64_t call_ns;		/* in other CUDA calls, not asleep */
	uint64_t run_ns;		/* the rest; without waits in the recording: running or not */
	uint64_t sampled_ns;		/* CPU samples */
	uint32_t stack;			/* of the longest wait or the most samples of one stack, whichever is more */
	bool is_wait;			/* that is of a wait */
};

void gap_events_doing(const struct gap_events *e, uint32_t thread, uint64_t start_ns, uint64_t end_ns,
	struct gap_doing *ret);
/* The first index of the thread's waits (calls) that ends behind a time. */
size_t gap_events_wait(const struct gap_events *e, uint32_t thread, uint64_t time_ns);
size_t gap_events_call(const struct gap_events *e, uint32_t thread, uint64_t time_ns);
/* What the driver told of a synchronizing call; NULL: nothing. */
const struct gap_span *gap_events_sync(const struct gap_events *e, const struct gap_span *call);
size_t gap_events_sample(const struct gap_events *e, uint32_t thread, uint64_t time_ns);
