/* SPDX-License-Identifier: MIT */
/*
 * A call of a GPU API and the GPU work that it asked for: which boxes of a time axis belong
 * together.
 */
#pragma once

#include "view/timeline/rows.h"

struct link_end {
	uint32_t row;
	uint64_t begin_ns, end_ns;
};

/* By either end. */
struct links_wanted {
	struct link_end box;
	size_t most; /* works */
};

struct links {
	/* what the box is */
	bool found;
	uint32_t instance, correlation;
	uint64_t launch_ns; /* of a work, 0: not known; else when the call began */
	/* and what belongs to it */
	bool has_call;
	struct link_end call;
	struct vec(struct link_end) works; /* the first `most` of the file */
	uint64_t work_count;
};

/* Finds the event that is that box: 0 or -errno with error_text. */
int links_find(struct links *l, struct timeline_rows *rows, struct profile_reader *r,
	const struct links_wanted *w);
/* Then, of another reader, its call and its works. As the first. Comes zeroed but for what the
 * first found; release it in either case. */
int links_read(struct links *l, struct timeline_rows *rows, struct profile_reader *r,
	const struct links_wanted *w);
void links_release(struct links *l);
