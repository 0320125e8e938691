/* SPDX-License-Identifier: MIT */
/*
 * What the wall view is made of, kept for whoever shows many parts of one recording. Who waited for
 * what, and which wait belongs to a GPU wait, depends on neighbours: that is divided once, for the
 * whole recording (stretch.h), and kept as moments by key (moments.h). The sums of a part follow
 * from these, and are those that reading the file gives.
 *
 * Kept by all that events have, so any groups and any thread can be shown. What would take more
 * than WALL_KEPT_BYTES is not kept. Comes zeroed, and is owned by the caller, who releases it when
 * the recording has changed.
 */
#pragma once

#include "view/range/range.h"
#include "view/wall/moments.h"
#include "view/wall/sums.h"

#define WALL_KEPT_BYTES ((size_t)96 << 20)

/* What a key of the moments stands for. */
enum wall_kept_kind {
	/* enum wall_kind comes first */
	WALL_KEPT_WAITED = WALL_KINDS,
	WALL_KEPT_ASSUMED,
	WALL_KEPT_GPU,
	WALL_KEPT_KINDS,
};

struct wall_kept_key {
	uint32_t kind;
	uint32_t key;  /* of keys */
	uint32_t what; /* of a GPU wait, as gpu_waits.h has it, by keys */
};

/* Time of WALL_RUNNING that is spread evenly. */
struct wall_kept_spread {
	uint32_t key; /* of keys */
	uint64_t start_ns, end_ns, amount_ns;
};

struct wall_kept {
	bool read, too_large, has_stalls;
	struct keys keys; /* whole ones (event_whole_key) */
	struct moments moments;
	struct vec(struct wall_kept_key) of; /* by key of the moments */
	struct vec(struct wall_kept_spread) spreads;
	struct vec(struct wall_thread) threads;
	struct vec(uint32_t) observed; /* processes, as wall_events has them */
};

/* Reads all of the recording, if that was not done: 0 or -errno with error_text. What is too large
 * is `too_large`. */
int wall_kept_read(struct wall_kept *k, const struct range_known *known);
/* The same, with no more than about so many events in memory at a time. */
int wall_kept_read_within(struct wall_kept *k, const struct range_known *known, size_t most);
void wall_kept_release(struct wall_kept *k);
/* Fills sums that have none yet, and the threads of their events. Where there are samples of
 * instructions, `o->stalls` has what is kept of them. 0 or -errno with error_text. */
int wall_kept_fill(const struct wall_kept *k, const struct view_options *o, struct wall_sums *sums);
