/* SPDX-License-Identifier: MIT */
/*
 * Sums of events, by the two halves of their keys (keys.h), as a tree of frames. All of the code
 * has its time first, by one pass over its tree (code_tree.h); only what is large enough to be
 * shown becomes nodes:
 *
 *	code tree    a - b - c, d	all with time in the sums
 *	kept         a - b		at least `least` of it
 *	result       base - a - b - (frames left out)
 *	             base - a - b - top
 *
 * Owned by the caller.
 */
#pragma once

#include "view/fold/code_tree.h"
#include "view/fold/pair_sums.h"
#include "view/fold/result.h"
#include "view/fold/slice_sums.h"

struct fold {
	const struct profile_reader *reader;
	const struct view_options *options;
	const struct event_keys *keys;
	struct code_tree *codes; /* of these keys; made if it is not */
	const bool *shown;	 /* by rest: whether its sums are shown */
	/* The sums: those of slices, and more. */
	const struct slice *slices;
	uint32_t slice_count;
	bool leaves; /* what stands on leaves is counted, too, where only so many nodes may be */
	struct pair_sums more;
};

void fold_release(struct fold *f);
/* By code: twice its last node from the root that is kept, and 1 where that is not its leaf. To be
 * freed. *ret_least: less than that is not kept. 0 or -errno with error_text. */
int fold_choose(const struct fold *f, uint32_t **ret_kept, uint64_t *ret_least);
/* Adds all that is shown and has time to the tree of the result, and says what was left out.
 * 0 or -errno with error_text. */
int fold_add(const struct fold *f, struct view_result *ret);
