/* SPDX-License-Identifier: MIT */
/*
 * Numbers that the program, or whoever knows about it, wrote down while it was recorded: a line for
 * each, as counters of the profile.
 *
 *	1700000000.25 loss 0.314	seconds since 1970 (as `date +%s.%N` prints them), name, value
 *	# a comment, and an empty line, are passed over
 *
 * A value holds until the next of its name. Lines may be in any order.
 */
#pragma once

#include "base/buf.h"
#include "base/user.h"
#include "profile/writer.h"

struct metrics_source {
	const char *path;
	const struct user *user;   /* with whose rights it is read; NULL: ours */
	uint64_t realtime_ns;	   /* CLOCK_REALTIME less CLOCK_MONOTONIC */
	uint64_t start_ns, end_ns; /* of the recording */
};

/* Reads the file and writes what is within the recording: 0 or -errno with error_text. What it
 * could not use is said in lines that are appended. */
int metrics_take_in(struct profile_writer *w, const struct metrics_source *s, struct buf *lines);
