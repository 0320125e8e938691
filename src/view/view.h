/* SPDX-License-Identifier: MIT */
/*
 * The table of views: ways to fold a profile into one tree of frames. Each is one file, and one row
 * in the table of view.c (docs/howto-add-a-view.md). What a view is given and what it returns is in
 * view/fold/, so that views do not include the table.
 */
#pragma once

#include "profile/reader.h"
#include "view/fold/options.h"
#include "view/fold/result.h"

/* Whether an option is set that needs to know more than a tree of frames does (reverse does
 * not). */
bool view_options_any(const struct view_options *o);

struct view {
	const char *name;
	const char *summary;
	unsigned int shows; /* VIEW_SHOWS_* */
	/* Reads all events, fills `ret->tree` and `ret->remarks`: 0 or -errno with error_text. */
	int (*build)(
		struct profile_reader *r, const struct view_options *o, struct view_result *ret);
};

/* The view of the options, the table's first when they name none. */
const struct view *view_of(const struct view_options *o);

/* The n-th of the table; NULL past the last. */
const struct view *view_at(size_t n);
/* NULL when there is none of that name. */
const struct view *view_by_name(const char *name);
/* "process,device" to VIEW_BY_* bits; "launch" and the like. 0, or -EINVAL with error_text. */
int view_parse_by(const char *text, unsigned int *ret_by);
int view_parse_graph_stack(const char *text, enum view_graph_stack *ret);

/* Reads a profile, or a folded text (recognized by its contents; "-" is standard input), into a
 * sorted tree: 0, or -errno with error_text and nothing to release. */
int view_read(const char *path, const struct view_options *o, struct view_result *ret);
/* Whether some GPU of the profile, which was read to its end, was simulated. */
bool view_is_simulated(const struct profile_reader *r);
