/* SPDX-License-Identifier: MIT */
/*
 * The events of a profile that the wall view is made of, one stretch of time after the other.
 *
 *	file, read once for each stretch: from the second on without the chunks that have nothing of it (chunk_times.h)
 *	   |     wall_events_read: all events that overlap [from_ns, to_ns)
 *	   v
 *	waits, samples, runs, GPU waits      clipped to the stretch, to each other, and to the thread's life
 *
 * When more than about `most` events are kept, the stretch is cut short, and the rest is left to
 * the next reading. So memory is bounded by `most`, not by the file, and most files are read once.
 * (Of a copy that waits for itself and lies across two stretches, the part behind the end of its
 * work may count as run time.)
 *
 * The first reading finds the lives of threads, and which processes report their synchronizing
 * calls (EVENT_SYNC). In processes that do not, each call that waits counts, for everything the
 * process launched.
 */
#pragma once

#include "base/map.h"
#include "base/vec.h"
#include "profile/chunk_times.h"
#include "view/waits/gpu_waits.h"
#include "view/fold/gather.h"
#include "view/fold/keys.h"
#include "view/stalls/stalls.h"
#include "profile/reader.h"
#include "view/fold/result.h"
#include "view/wall/thread.h"

#define WALL_EVENTS_MAX ((size_t)1 << 19) /* about 25 MiB of them */

/* Amounts that share what is left of a thread's time, in proportion. */
enum wall_kind {
	WALL_RUNNING,
	WALL_OTHERS_INSIDE,
	WALL_OTHERS_OUTSIDE,
	WALL_RESTS,
	WALL_KINDS,
};

/* Gets what stretch.h makes of the events. Keys are those of wall_events.keys. All: 0 or -errno
 * with error_text. */
struct wall_receiver {
	void *arg;
	/* rests in no order, and all of them during the first reading */
	int (*amount)(void *arg, enum wall_kind kind, uint32_t key, uint64_t time_ns, uint64_t ns);
	/* of WALL_RUNNING, spread evenly */
	int (*spread)(
		void *arg, uint32_t key, uint64_t start_ns, uint64_t end_ns, uint64_t amount_ns);
	/* time outside of GPU waits; `assumed`: the stack is that of another wait */
	int (*waited)(void *arg, uint32_t key, bool assumed, uint64_t from_ns, uint64_t to_ns);
	/* time in GPU waits, by key as gpu_waits_divide has it */
	int (*gpu)(void *arg, uint64_t key, uint64_t from_ns, uint64_t to_ns);
};

/* When a thread did not run; the part of it from queued_from_ns on it was in the run queue. */
struct wall_wait {
	uint64_t start_ns, end_ns, queued_from_ns;
	uint64_t others_ns; /* of other waits at its call site */
	uint32_t thread;
	uint32_t key;
	bool assumed; /* its stack was that of another one */
};

struct wall_sample {
	uint64_t time_ns, period_ns;
	uint32_t thread;
	uint32_t key;
};

/* A call that may have waited for its own copy, or for something that was not reported. */
struct wall_call {
	uint64_t start_ns, end_ns;
	uint32_t thread;
	uint32_t instance, correlation;
	uint32_t key;
	bool copy;
};

struct wall_copy {
	uint32_t instance, correlation;
	uint64_t begin_ns; /* it was launched, or ran */
	uint64_t end_ns;
	uint32_t op;
};

/* What a run is. Most are nobody's wait: only the others get a key. */
struct wall_work {
	struct gather_key whole;
	uint32_t key; /* plus 1; 0: none yet */
};

struct wall_events {
	const struct profile_reader *reader; /* has all tables after the first reading */
	const struct view_options *options;  /* NULL: keys are whole ones */
	const struct wall_receiver *receiver;
	size_t most;
	uint64_t from_ns, to_ns;   /* the stretch; to_ns is UINT64_MAX for the last */
	uint64_t last_ns;	   /* when the last event of all began */
	bool cut;		   /* the stretch was to be longer */
	struct chunk_times chunks; /* of the first reading */
	bool again;		   /* the first reading is over */
	/* all works and stalls of the first reading go there; NULL: nowhere */
	struct stalls *stalls;
	bool has_stalls; /* there are any */
	struct keys keys;
	struct vec(uint32_t) launch_of; /* by key of kernels: launch of the stalls, plus 1 */
	struct vec(struct wall_thread) threads; /* by id */
	/* instances that report their synchronizing calls */
	struct map with_syncs;
	struct map observed; /* processes (ids) whose work is not recorded, only their calls */
	struct vec(struct wall_wait) waits; /* by thread and start, apart from each other */
	struct vec(struct wall_sample) samples;
	struct vec(struct gpu_run) runs; /* their keys are indices of `works` */
	struct vec(struct wall_work) works;
	struct vec(struct gpu_wait) gpu_waits; /* by thread and start, apart from each other */
	struct vec(struct gpu_lane) lanes;
	struct map lane_of_op; /* op << 1 | any_stream -> lane, of work on its op's stream */
	struct map lane_ids;   /* hash -> lane */
	struct vec(struct wall_call) calls;
	struct vec(struct wall_copy) copies;
};

/* Holds on to reader and options, to the receiver, and to the stalls, which it hands their
 * events. */
void wall_events_init(struct wall_events *e, const struct profile_reader *r,
	const struct view_options *o, size_t most, const struct wall_receiver *receiver,
	struct stalls *stalls);
void wall_events_release(struct wall_events *e);
/*
 * The first stretch, from a reader that has read no event yet: 1, or -errno with error_text. Then
 * the next ones, which read the file once more: 1, 0 after the last.
 */
int wall_events_first(struct wall_events *e, struct profile_reader *r);
int wall_events_next(struct wall_events *e);
/* The key of a run's work. 0 or -ENOMEM with error_text. */
int wall_events_work_key(struct wall_events *e, uint32_t work, uint32_t *ret);
/* 0, or -EOVERFLOW with error_text. */
int wall_add_up(uint64_t *sum_ns, uint64_t ns);
/* Whether it is not known what this thread's GPU waits were for. */
bool wall_events_is_observed(const struct wall_events *e, uint32_t thread);
/* The thread's first GPU wait of this stretch that ends after a time; NULL: there is none. */
const struct gpu_wait *wall_events_gpu_wait(
	const struct wall_events *e, uint32_t thread, uint64_t time_ns);
