/* SPDX-License-Identifier: MIT */
/*
 * The sums that the tree of the wall view is made of. Some are those of the part that is shown;
 * others share what is left of a thread's time, and have to be known of the whole recording first,
 * with what of each is in the part (view/range/edges.h).
 *
 * They come from the events, or from what is kept of them (kept.h): the same sums by either way.
 */
#pragma once

#include "view/fold/gather.h"
#include "view/range/edges.h"
#include "view/wall/events.h"

struct wall_divided {
	struct gather all;
	struct edges edges; /* by key of the events */
};

struct wall_sums {
	const struct profile_clip *clip; /* the part that is shown; NULL: all */
	struct wall_events *events;
	struct wall_divided divided[WALL_KINDS];
	struct gather waiting; /* what is shown */
	struct map gpu;	       /* all, by key as gpu_waits_divide has it */
	struct edges gpu_edges;
	struct wall_receiver receiver; /* adds what the events have */
};

/* Holds on to both. 0 or -ENOMEM with error_text; release it in either case. */
int wall_sums_init(
	struct wall_sums *s, struct wall_events *events, const struct profile_clip *clip);
void wall_sums_release(struct wall_sums *s);
/* Adds waits outside of GPU waits that are shown, by key of the events. 0 or -errno with
 * error_text. */
int wall_sums_add_waiting(struct wall_sums *s, uint32_t key, bool assumed, uint64_t ns);
/* Adds to a GPU wait, of all. So too. */
int wall_sums_add_gpu(struct wall_sums *s, uint64_t key, uint64_t ns);
