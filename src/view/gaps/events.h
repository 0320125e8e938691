/* SPDX-License-Identifier: MIT */
/*
 * The events that explain gaps in GPU work, in lists by thread and time, so that what a thread did
 * in a stretch of time can be looked up.
 *
 * The file is read twice. The first reading keeps all GPU work, and from that follows which
 * stretches of time have to be explained (windows); the second keeps what threads did in these, and
 * all calls that wait for the GPU.
 *
 * Memory is bounded: of recordings with more than `most` events not all of the time is looked at,
 * but PARTS parts of it, of equal length and distance:
 *
 *	recording  |-----------------------------------------------|
 *	parts      |==|        |==|        |==|        |==|
 *
 * Chunks of the file that have nothing of these are skipped (chunk_times.h). If the parts have more
 * than `most` events all the same, the later ones are left out: those from cut_ns on.
 */
#pragma once

#include <stdbool.h>

#include "base/map.h"
#include "base/vec.h"
#include "profile/reader.h"
#include "profile/chunk_times.h"

#define GAP_EVENTS_MAX ((size_t)3 << 20) /* 24 to 48 bytes each; a gap takes 36 more */
/* Of recordings with more so many are looked at: the time that this takes, and the memory, are two
 * fifths of what the largest takes that is looked at whole. */
#define GAP_EVENTS_PART (GAP_EVENTS_MAX / 5 * 2)
#define GAP_PARTS_COUNT 16

/* Which part of the time is looked at. All zero: everything. */
struct gap_parts {
	uint64_t start_ns; /* of the recording */
	/* from the begin of a part to that of the next; 0: there is one, of all the time */
	uint64_t period_ns;
	uint64_t length_ns; /* of a part */
};

struct gap_work {
	uint64_t start_ns, end_ns;
	uint64_t launch_ns;	/* 0: not known */
	uint32_t thread, stack; /* that launched it; 0: not known */
	uint32_t op, process;
	uint32_t stream; /* that it is waited for in; 0: it is of a graph, and that is not known */
	uint32_t device : 31;
	bool graph : 1;
};

/* When a thread did something; those of one thread and list do not overlap. */
struct gap_span {
	uint64_t start_ns, end_ns;
	uint32_t thread, stack; /* 0: not known */
};

/* It did not run; in the part from queued_from_ns on it was in the run queue. */
struct gap_wait {
	struct gap_span span;
	uint64_t queued_from_ns;
	uint32_t waker; /* thread; 0: not known */
	uint8_t reason;
};

struct gap_call {
	struct gap_span span;
	uint32_t api; /* string */
	bool is_sync; /* it waits for the GPU */
};

/* What the driver reported of a synchronizing call. */
struct gap_sync {
	struct gap_span span;
	uint32_t context, stream;
	uint8_t kind;	      /* enum profile_sync_kind */
	uint64_t launched_ns; /* only work that was launched until then; 0: not known */
};

struct gap_sample {
	uint64_t time_ns, period_ns;
	uint32_t thread, stack;
};

/* A stretch of time. */
struct gap_window {
	uint64_t start_ns, end_ns;
};

struct gap_range {
	size_t first, end;
	size_t near; /* where the last search ended: the next is mostly for a time soon after */
};

struct gap_life {
	uint64_t start_ns, end_ns; /* 0, 0: not recorded */
	uint64_t period_ns;	   /* of its CPU samples; 0: it has none */
	bool launches;		   /* it asked for GPU work */
	struct gap_range waits, calls, syncs, samples;
};

struct gap_events {
	struct gap_parts parts;
	/* of the file: what is outside of the parts is skipped; NULL: all is read */
	const struct chunk_times *chunks;
	struct vec(struct gap_work) works;     /* by device and start */
	struct vec(struct gap_window) windows; /* apart from each other, by time */
	size_t window;			       /* the one that was looked for last */
	struct vec(struct gap_wait) waits;     /* these by thread and start */
	struct vec(struct gap_call) calls;
	struct vec(struct gap_sync) syncs;
	struct vec(struct gap_sample) samples;
	struct vec(struct gap_life) threads; /* by id */
	/* instance << 32 | correlation of calls whose copy has not come: index in calls */
	struct map copies;
	size_t most;
	bool has_waits;	 /* they were recorded */
	uint64_t cut_ns; /* 0: all events are here */
};

/* The parts of a recording with so many events in which about `most` are. */
struct gap_parts gap_parts_of(uint64_t start_ns, uint64_t end_ns, uint64_t events, size_t most);
/* The number of the part (below GAP_PARTS_COUNT) that a time is in; -1: none. */
int gap_part(const struct gap_parts *p, uint64_t time_ns);
/* Where the next part begins, of a time that is in one; 0: nowhere. */
uint64_t gap_part_end(const struct gap_parts *p, uint64_t time_ns);
/* Whether some part has times from the first to the last of these. */
bool gap_parts_overlap(const struct gap_parts *p, uint64_t first_ns, uint64_t last_ns);
/* Reads the GPU work, of a reader that has read no event: 0 or -errno with error_text. Comes zeroed
 * but for parts and chunks; release it in either case. */
int gap_events_read_works(struct gap_events *e, struct profile_reader *r, size_t most);
/* Then: what is to be explained. Windows may overlap, and come by their ends. 0 or -ENOMEM with
 * error_text. */
int gap_events_add_window(struct gap_events *e, uint64_t start_ns, uint64_t end_ns);
/* Sets what time a CPU sample of a thread stands for. Call it before the next, as all of a thread's
 * samples may lie in what is skipped. Returns as the one before. */
int gap_events_set_period(struct gap_events *e, uint32_t thread, uint64_t period_ns);
/* Then what threads did, of another such reader of the file. Drops work of the time that does not
 * fit. As the first. */
int gap_events_read_threads(struct gap_events *e, struct profile_reader *r);
void gap_events_release(struct gap_events *e);

/* What a thread did in a stretch of time. The times add up to its length, as far as the thread was
 * there. */
struct gap_doing {
	uint64_t sync_ns;     /* in synchronizing calls, asleep or not */
	uint64_t wait_ns[16]; /* by reason, elsewhere */
	uint64_t call_ns;     /* in other API calls, not asleep */
	/* the rest; without waits in the recording: running or not */
	uint64_t run_ns;
	uint64_t sampled_ns; /* CPU samples */
	/* of the longest wait or the most samples of one stack, whichever is more */
	uint32_t stack;
	bool is_wait; /* that is of a wait */
};

/* Of a stretch inside a window. */
void gap_events_doing(const struct gap_events *e, uint32_t thread, uint64_t start_ns,
	uint64_t end_ns, struct gap_doing *ret);
/* The first index of the thread's waits (calls, samples) that ends behind a time. */
size_t gap_events_wait(const struct gap_events *e, uint32_t thread, uint64_t time_ns);
size_t gap_events_call(const struct gap_events *e, uint32_t thread, uint64_t time_ns);
size_t gap_events_sample(const struct gap_events *e, uint32_t thread, uint64_t time_ns);
/* What the driver reported of a synchronizing call; NULL: nothing. */
const struct gap_sync *gap_events_sync(const struct gap_events *e, const struct gap_call *call);
