/* SPDX-License-Identifier: MIT */
/*
 * Which part of a recording is asked for. That is a range (from, to, thread, device), or with
 * iterations=1 the time of those that are so long, of what happens again in it (repeats_json.h: of,
 * which, at-least, below):
 *
 *	these	   |======|            |=======|		at-least 20 ms
 *	others	           |==|  |===|          |==|		of the same kernel or marker
 *
 * They are whole, also beyond the range in which they begin. Where some overlap, in the streams of
 * a GPU or in several threads, time is not in both: it is that of these.
 */
#pragma once

#include "base/vec.h"
#include "page/arguments.h"
#include "page/recording.h"

struct part_side {
	struct vec(struct profile_span) spans;
	uint64_t count;
	char *text; /* what they are called */
};

struct part {
	struct argument_times times;
	bool iterated;
	struct part_side these, others;
};

/* Comes zeroed, to be released in either case. *ret borrows from both, and has no `known`. 0, or
 * -errno with error_text: -ENOENT where there are none. */
int part_read(struct part *p, struct recording *r, const struct http_request *q,
	struct range_wanted *ret);
/* The other iterations: 0, or -EINVAL or -ENOENT with error_text. */
int part_others(const struct part *p, struct range_wanted *ret);
void part_release(struct part *p);
