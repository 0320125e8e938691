/* SPDX-License-Identifier: MIT */
/*
 * A recording that is looked at for a while: read once, in steps between questions, and what of
 * that is kept answers them.
 *
 *	glance		tables, and a sixteenth of the events of a large file: the first picture
 *	reading		all events, a step at a time
 *	whole		sums by slice (view/fold/slice_sums.h), the time axis (view/timeline/kept.h),
 *			where the file has which times, for what these two do not know, and which
 *			names (view/timeline/named.h)
 *
 * A recording that goes on is read anew when it has grown; what was read before stands until then.
 * A page that looks again and again has it read for a tenth of the time at most.
 */
#pragma once

#include "view/calls_kept.h"
#include "view/fold/code_tree.h"
#include "view/fold/slice_sums.h"
#include "view/stalls/kept.h"
#include "view/timeline/find.h"
#include "view/timeline/kept.h"
#include "view/timeline/links.h"
#include "view/timeline/repeats.h"
#include "view/wall/kept.h"

struct recording;

/* One reading of it. */
struct recording_reading {
	struct profile_reader *reader; /* read to its end */
	struct chunk_times chunks;
	struct slice_sums sums;
	struct code_tree codes; /* of the sums */
	struct timeline_kept axis;
	struct timeline_named named;
	struct stalls_kept stalls; /* since the first flame graph of them */
	struct wall_kept wall;	   /* so too */
	struct calls_kept calls;   /* so too */
	struct range_known known;
	uint64_t start_ns, end_ns; /* of the recording; end_ns is greater */
	bool whole;		   /* not only a glance */
};

/* The glance, or all of a small file. `path` is borrowed. All: 0 or -errno with error_text. */
int recording_open(struct recording **ret, const char *path);
void recording_close(struct recording *r);
const char *recording_path(const struct recording *r);

/* Whether there is something to read. */
bool recording_has_more(const struct recording *r);
/* Reads on for some hundredths of a second. */
int recording_step(struct recording *r);
/* What of a file that has only become longer. */
enum recording_growth {
	GROWTH_LATER, /* it stays as it was read */
	GROWTH_SOON,  /* it is read once more, when what is being read is, and a while after that */
	GROWTH_NOW,
};
/* Begins anew where the file has changed. -errno where it is not there any more. */
int recording_look(struct recording *r, enum recording_growth growth);
/* Reads to the end. */
int recording_finish(struct recording *r);
/* How much of the file is read, from 0 to 1. */
double recording_progress(const struct recording *r);
/* What is known now. */
struct recording_reading *recording_now(struct recording *r);

/* For views and reports of a part: what they do not have to read. */
void recording_known(
	struct recording *r, struct range_wanted *range, struct view_options *ret_options);
/* A stretch of the time axis: from memory where it fits, else from the part of the file. */
int recording_axis(struct recording *r, struct timeline *t, const struct timeline_wanted *wanted);
/* Read from the file, as little of it as has the answer. */
int recording_find(
	struct recording *r, struct timeline_find *ret, const struct timeline_find_wanted *wanted);
int recording_links(struct recording *r, struct links *ret, const struct links_wanted *wanted);
int recording_repeats(
	struct recording *r, struct repeats *ret, const struct repeats_wanted *wanted);
