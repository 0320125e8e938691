/* SPDX-License-Identifier: MIT */
/*
 * What a page without a server has of single events, as far as there is room:
 *
 *	"repeats"	what happens again (view/timeline/repeats.h): [{"text", "marker", "count",
 *			"time_ns", "items"}, ...], the most time first. Items are [group, begin,
 *			length, ...], as they stand in the file; launches of one group follow each
 *			other. null: there is no room for them
 *	"links"		calls and their GPU work (links_json.h): [[works, call's row, begin, length,
 *			row, begin, length, ...], ...], of those that are boxes of the time axis.
 *			-1: there is no call
 *	"links_left_out"	how many calls or pieces of work have none: there is no room for
 *			them, or for their row
 *
 * Times are from the start of the recording.
 */
#pragma once

#include "page/recording.h"

struct timeline_box;

struct file_events_wanted {
	size_t items_max; /* of `repeats` */
	size_t ends_max;  /* of `links` */
	const bool *rows; /* by number: those that there are */
	bool (*is_box)(const void *arg, const struct timeline_box *box);
	const void *arg;
};

/* 0 or -errno with error_text. */
int file_events_json(
	struct buf *out, struct recording_reading *g, const struct file_events_wanted *wanted);
