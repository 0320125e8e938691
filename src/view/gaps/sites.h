/* SPDX-License-Identifier: MIT */
/*
 * What gaps in GPU work have in common with others of their site: before work that was launched through the same functions.
 *
 * Their cause. The thread ran in a gap, too long for a launch, and no CPU sample was taken: it did what it does in most of
 * the time of such gaps of the site of which that is known. Their samples count only if they are at least half as many as there
 * would be had the thread run; else it waited, and it was not recorded when. Where that leaves nothing:
 *
 *	not known	no waits were recorded; or they were, but the thread was sampled too rarely to have run
 *	other CPU work	it ran, and not more is known
 *
 * Whether they happen again and again, or once: programs start slowly. Looked at are those of one site and then, of what these
 * leave over, those of one cause and place (the stack that shows it):
 *
 *	1 2 2 3 3 4 4 9 | 60 70 90 | 4000	in ms, by length: none of a group is more than ten times as long as its median
 *
 * A group comes again if it has at least three gaps, and they lie apart by more than a tenth of the device's time or of its
 * work: what happens only within less is the start of something. The longer ones of a site are looked at by cause and
 * place, since they often have one of their own (a synchronizing call); the longer ones of these are a group again.
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
	uint64_t key; /* site or place */
	uint64_t ns;  /* length */
	uint32_t gap; /* index */
};

struct gap_rows {
	struct gap_row *rows; /* by length, the shortest first; equal ones by index */
	struct gap_row *spare;
	size_t count;
};

/* Of `count` gaps from `first` on: 0 or -ENOMEM; release it in either case. */
int gap_rows_init(struct gap_rows *r, const struct gap *gaps, size_t first, size_t count);
void gap_rows_release(struct gap_rows *r);
/* Sets cause and stack of untold gaps, and `once` of all, of one device: of these rows, which are used up. */
void gap_sites_tell(const struct gap_sites *s, struct gap_rows *r);
