/* SPDX-License-Identifier: MIT */
/*
 * The times of the markers of a name, as spans of a range: all of them, or with "#3" behind the name
 * the third by begin. What overlaps is one span.
 */
#pragma once

#include "base/vec.h"
#include "profile/clip.h"
#include "profile/reader.h"

struct marker_time {
	struct profile_span span;
	bool whole; /* its name is all of the text, and not the part before "#3" */
};

struct marker_times {
	const char *text;
	size_t name_size; /* of the part before "#3" */
	uint64_t number;  /* 3; 0: all */
	struct vec(struct marker_time) found;
	uint64_t moments; /* of that name, which have no length */
};

/* Borrows the text. */
void marker_times_init(struct marker_times *m, const char *text);
void marker_times_release(struct marker_times *m);
/* Keeps it if it is one of them: 0 or -ENOMEM with error_text. */
int marker_times_add(
	struct marker_times *m, const struct profile_reader *r, const struct profile_marker *e);
/* Leaves in `found` what of them lies within `asked`, in order and apart from each other: 0,
 * -ENOENT with error_text where there is no such marker, -ERANGE where none of them is within. */
int marker_times_finish(struct marker_times *m, struct profile_span asked);
