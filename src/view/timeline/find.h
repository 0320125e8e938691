/* SPDX-License-Identifier: MIT */
/* Search on a time axis: markers, calls, GPU work and drivers' jobs whose names have a text in
 * them, in the order in which they begin. */
#pragma once

#include "view/timeline/named.h"

struct timeline_find_wanted {
	const char *text; /* without regard to the case of A to Z; not empty */
	uint64_t from_ns; /* those are returned that begin from here on */
	size_t most;	  /* the first of them; at least one */
	bool back;	  /* those that begin before it instead, the last of them first */
	/* of the same reading: then they may be fewer than `most`, but one at least where there is
	 * any; NULL: all is read */
	const struct timeline_named *named;
};

struct timeline_find {
	struct vec(struct timeline_box) found;
	uint64_t count;	 /* of all that match */
	uint64_t before; /* of these, before from_ns */
};

/* `done` has read all events. 0 or -errno with error_text; comes zeroed, and is released in either
 * case. */
int timeline_find_read(struct timeline_find *f, struct timeline_rows *rows,
	const struct profile_reader *done, const struct timeline_find_wanted *w);
void timeline_find_release(struct timeline_find *f);
