/* SPDX-License-Identifier: MIT */
/*
 * How long it took what happens again and again: launches of a kernel, the time from one of them to
 * the next on the same device, markers of a name. What begins in a stretch of time counts, whole.
 *
 *	launches      |==|     |===|        |==|
 *	periods       |--------|------------|		by process and device
 *
 * Names are readable ones, as frames have them: kernels of one readable name are one.
 */
#pragma once

#include "base/vec.h"
#include "profile/reader.h"

#define REPEATS_BARS 60

enum repeats_of { REPEATS_LAUNCHES = 0, REPEATS_PERIODS, REPEATS_MARKERS, REPEATS_KINDS };

struct repeats_wanted {
	uint64_t from_ns, to_ns;
	enum repeats_of of;
	const char *name;		/* NULL: only what there is */
	uint64_t at_least_ns, below_ns; /* lengths that are listed */
	size_t most;			/* of these: the longest */
};

struct repeat {
	uint64_t start_ns, length_ns;
};

struct repeats_bar {
	uint64_t from_ns, to_ns; /* lengths; to_ns is in the next one */
	uint64_t count;
};

/* What there is: a kernel or a marker. */
struct repeats_name {
	char *text;
	bool is_marker;
	uint64_t count, time_ns;
};

struct repeats {
	struct vec(struct repeats_name) names; /* the most time first */
	/* of what was asked for */
	uint64_t count, total_ns, min_ns, median_ns, max_ns;
	/* by length, one behind the other: equal steps, or quarters of powers of two where lengths
	 * are far apart */
	struct vec(struct repeats_bar) bars;
	uint64_t matching;		   /* of such a length as is listed */
	struct vec(struct repeat) longest; /* these, the longest first */
};

/* "launches", "periods", "markers": 0, or -EINVAL with error_text. */
int repeats_parse(const char *text, enum repeats_of *ret);
/* Reads all events; `names` is a reader that has read them already. 0 or -errno with error_text,
 * -ERANGE where there are too many; comes zeroed, and is released in either case. */
int repeats_read(struct repeats *p, struct profile_reader *r, const struct profile_reader *names,
	const struct repeats_wanted *w);
void repeats_release(struct repeats *p);
