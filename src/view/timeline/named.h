/* SPDX-License-Identifier: MIT */
/*
 * How often each name of a time axis occurs in each stretch of a file, and when: so that a search
 * counts without reading, and reads only what it returns.
 *
 *	file        |  stretch 0  |  stretch 1  |  stretch 2  |
 *	a call            12             -              3		times, and from when to when
 *	a kernel         340            331            352
 *
 * Names are those of calls, GPU work, drivers' jobs and markers, by id: what they are called is
 * known after the last event. Stretches become longer when there are too many places; a recording
 * with too many names for that has none. Owned by the caller.
 */
#pragma once

#include "base/map.h"
#include "view/timeline/timeline.h"

struct timeline_named_name {
	enum timeline_kind kind;
	struct timeline_what what;
	size_t latest; /* its latest place, + 1 */
};

/* Of a name in a stretch; times in steps, both within. */
struct timeline_named_place {
	uint32_t name, count;
	uint32_t first, last; /* begin */
};

struct timeline_named_stretch {
	uint64_t begin; /* in the file: of its first chunk */
	size_t first_place;
};

struct timeline_named {
	struct vec(struct timeline_named_name) names;
	struct vec(struct timeline_named_place) places; /* by stretch */
	struct vec(struct timeline_named_stretch) stretches;
	struct map of_kind, of_marker; /* kind or domain, and id -> name */
	uint64_t start_ns, step_ns;
	uint64_t stretch_bytes; /* may be set to less before the first event */
	size_t places_max;	/* so too */
	uint64_t chunk;		/* of the latest event */
	bool overflow;		/* nothing is kept */
};

void timeline_named_init(struct timeline_named *n, uint64_t start_ns, uint64_t end_ns);
void timeline_named_release(struct timeline_named *n);
/* Adds the event that the reader returned last: 0 or -ENOMEM with error_text. */
int timeline_named_add(
	struct timeline_named *n, const struct profile_reader *r, const struct profile_event *e);
/* The step that a time is in; what is before the start is in the first, and there is a last. */
uint32_t timeline_named_step(const struct timeline_named *n, uint64_t time_ns);
/* The stretch that has a chunk, by where that begins; there is one. */
size_t timeline_named_stretch_of(const struct timeline_named *n, uint64_t chunk);
/* Where the places of a stretch end. */
size_t timeline_named_end(const struct timeline_named *n, size_t stretch);
