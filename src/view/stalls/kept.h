/* SPDX-License-Identifier: MIT */
/*
 * What the instruction samples of a whole recording mean (stalls.h), kept for whoever shows many
 * parts of it: launches and their rows are the same for each part, and what of a launch lies in the
 * part follows from the sums by slice (view/fold/slice_sums.h).
 *
 * Kept for one way to distinguish launches; another way is read anew, as is what would take too
 * much memory to be kept. Comes zeroed, and is owned by the caller, who releases it when the
 * recording has changed.
 */
#pragma once

#include "view/fold/keys.h"
#include "view/stalls/stalls.h"

#define STALLS_KEPT_BYTES ((size_t)96 << 20)

struct stalls_kept {
	bool read;
	unsigned int by;
	enum view_graph_stack graph_stack;
	bool threads;
	struct stalls stalls;
	struct keys launches; /* their numbers are those of stalls.launches */
};

/* Reads all of the recording that o->range.known is of, if that is not kept: 0 or -errno with
 * error_text. */
int stalls_kept_read(struct stalls_kept *k, const struct view_options *o);
/* After what was read was used. */
void stalls_kept_trim(struct stalls_kept *k);
void stalls_kept_release(struct stalls_kept *k);
/* The launch of work with such a key (event_whole_key), of a kernel: 0, -ENOMEM, or -ESTALE with
 * error_text. */
int stalls_kept_launch(struct stalls_kept *k, const struct gather_key *whole,
	const struct view_options *o, uint32_t *ret);
