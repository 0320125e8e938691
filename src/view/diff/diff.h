/* SPDX-License-Identifier: MIT */
/*
 * Two recordings, or two parts of one, compared: the same view of both, as one tree, and by
 * function.
 *
 * A node has the time of both sides. That of the first is scaled, so that the sides can be compared
 * (enum diff_scale), and threads and processes are the same when they have the same name. What a
 * node's difference is, is its kind: TREE_DIFF_*, which are pale where it is within the noise
 * (noise.h).
 */
#pragma once

#include "view/diff/noise.h"

struct diff_function {
	char *name;
	struct diff_verdict self, total; /* total: it and what it called, once where it recurs */
};

struct diff_of {
	const char *path;
	const struct view_options *options; /* the same of both, or with a range of its own */
};

struct diff {
	/* Nodes have (in ns of the second side) the time of both, and of the second as samples. */
	struct view_result view;
	struct {
		struct diff_function *items;
		size_t count, capacity;
	} functions; /* the largest difference of totals first */
	enum diff_scale scale;
	uint64_t elapsed_ns[2];
	uint64_t total_ns[2]; /* not scaled */
	char *ranges[2];      /* which parts these are, where they differ; NULL: all of it */
	bool any_real;
};

/* 0 or -errno with error_text; comes zeroed, to be released in either case. */
int diff_read(struct diff *d, const struct diff_of sides[2], enum diff_scale scale);
/* Whether the two sides are parts of different times. */
bool diff_has_ranges(const struct diff *d);
void diff_release(struct diff *d);
/* "elapsed", "samples" or "none": 0, or -EINVAL with error_text. */
int diff_parse_scale(const char *text, enum diff_scale *ret);
