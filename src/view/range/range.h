/* SPDX-License-Identifier: MIT */
/*
 * Which part of a recording is shown, as it was asked for and as a clip (profile/clip.h).
 *
 * The recording is read once before it is shown: names of threads and the tables are known at its
 * end only, and so is where the file has which times, so that the second reading can pass over the
 * rest. Who shows many parts of one recording keeps what the first reading found (range_known).
 */
#pragma once

#include "base/vec.h"
#include "profile/chunk_times.h"
#include "profile/clip.h"

/* What is known of a recording that was read to its end already. */
struct range_known {
	const struct profile_reader *done;
	const struct chunk_times *chunks;
	uint64_t events;
	uint64_t first_ns, last_ns; /* of its events; first_ns is 0 where there are none */
};

/* As people wrote it; NULL: not asked for. */
struct range_wanted {
	const char *from, *to; /* view/range/time.h */
	const char *thread;    /* its name, or its id */
	const char *device;    /* its number, or its name */
	const char *marker;    /* its name, or its name and a number: view/range/markers.h */
	/* these stretches, in their order and apart from each other; then `spans_are` is said of
	 * them */
	const struct profile_span *spans;
	size_t span_count;
	const char *spans_are;
	/* not to be read first: then only as far as the earlier reading went; -ESTALE where it is
	 * another file by now */
	const struct range_known *known;
};

struct range {
	struct profile_clip clip;
	struct vec(struct profile_span) spans;
	bool *threads, *devices;
	struct chunk_times chunks;
	uint64_t elapsed_ns; /* of the recording, in the spans */
	char *times;	     /* "1 s to 2.5 s of 10 s" */
	char *text;	     /* "1 s to 2.5 s of 10 s, thread 'loader'" */
};

bool range_is_wanted(const struct range_wanted *w);
/*
 * Opens a recording, or the part of it that is wanted. *ret is NULL where nothing is; else it has
 * to outlive the reader, and is freed after it. 0, or -errno with error_text, and nothing to
 * release. What is wrong with the range is -ERANGE or -ENOENT.
 */
int range_open(struct range **ret, struct profile_reader **ret_reader, const char *path,
	const struct range_wanted *w);
void range_free(struct range *r);
