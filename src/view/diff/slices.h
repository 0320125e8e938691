/* SPDX-License-Identifier: MIT */
/*
 * One side of a comparison: a view of a recording, and of DIFF_SLICES stretches of its time, one
 * after the other and equally long. How much these differ says how far a difference of two
 * recordings can be chance.
 */
#pragma once

#include "view/view.h"

#define DIFF_SLICES 24

struct diff_slices {
	struct view_result whole;
	struct view_result slices[DIFF_SLICES];
	uint64_t slice_ns[DIFF_SLICES]; /* how much of the recording each has */
};

/* 0 or -errno with error_text; comes zeroed, to be released in either case. */
int diff_slices_read(struct diff_slices *s, const char *path, const struct view_options *o);
void diff_slices_release(struct diff_slices *s);
