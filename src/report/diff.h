/* SPDX-License-Identifier: MIT */
/* `xpuprof report --diff`: two recordings compared, by function, as text and as JSON. */
#pragma once

#include "base/buf.h"
#include "view/diff/diff.h"

struct report_diff {
	const struct diff *diff;
	const char *paths[2];
	size_t top;	    /* rows; 0: all */
	unsigned int width; /* columns; 0: no limit */
	double threshold;   /* points of a share; < 0: none */
};

/* When memory is short `out` is left failed. */
void report_diff_text(const struct report_diff *r, struct buf *out);
void report_diff_json(const struct report_diff *r, struct buf *out);
/* How many functions have a share, with what they called, that grew by more than the threshold, and
 * beyond the noise. */
size_t report_diff_grown(const struct report_diff *r);
