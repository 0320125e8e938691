/* SPDX-License-Identifier: MIT */
/*
 * What gaps in GPU work have in common with others of their site. The gaps of a site are those
 * before work that was launched through the same functions.
 *
 * The cause of gaps without a CPU sample, in which the thread ran for longer than a launch takes.
 * They get the cause that has most of the time of the site's other long gaps. Causes that were
 * found by samples count only if there are at least half as many samples as there would be had the
 * thread run; else it waited, and the waits were not recorded. If there is no such cause:
 *
 *	unknown		no waits were recorded; or they were, but the thread was sampled too rarely to have run
 *	other CPU work	the thread ran
 *
 * Whether gaps come again and again, or happen once, as when a program starts. The gaps of a site
 * are divided by length:
 *
 *	1 2 2 3 3 4 4 9 | 60 70 90 | 4000	in ms: none of a group is more than ten times as long as its median
 *
 * A group comes again if it has at least three gaps, and they lie apart by more than a tenth of the
 * device's time or of its work: what happens only within less is the start of something. That
 * decides for the first group of a site. The longer gaps, and the first group if it does not come
 * again, are then divided by cause and by the stack that shows it, as they often share one (a
 * synchronizing call). These gaps form groups by length in the same way; here each group counts.
 */
#pragma once

#include "view/gaps/causes.h"

struct gap_sites {
	const struct gap_events *events;
	const uint32_t *merged; /* by stack, see launch_path_merge */
	struct gap *gaps;	/* all */
	uint64_t span_ns;	/* of the device */
	size_t works;
};

/* A gap as it is sorted. */
struct gap_row {
	uint64_t key; /* of the site, or of the cause and its stack */
	uint64_t ns;  /* length */
	uint32_t gap; /* index */
};

struct gap_rows {
	struct gap_row *rows; /* by length, the shortest first; equal ones by index */
	struct gap_row *spare;
	size_t count, room;
};

/* Of `count` gaps from `first` on: 0 or -ENOMEM. Comes zeroed, or from the device before, so that
 * the memory is used again; release it in either case. */
int gap_rows_set(struct gap_rows *r, const struct gap *gaps, size_t first, size_t count);
void gap_rows_release(struct gap_rows *r);
/* Sets cause and stack of unexplained gaps, and `once` of all. The rows are those of one device;
 * they are used up. */
void gap_sites_explain(const struct gap_sites *s, struct gap_rows *r);
