/* SPDX-License-Identifier: MIT */
/*
 * A time axis that is kept in memory, as fine as there is room for: columns of equal length from
 * the start of the recording on, cells of the rows in them, and what is at least two columns long
 * as it is (timeline.h). Any stretch in columns that are made up of these is shown without a
 * reading.
 *
 *	columns      |   |   |   |   |   |   |   |   |   |	kept
 *	an axis              |       |       |			whole columns of those
 *
 * Columns become longer when there are too many cells. Owned by the caller.
 */
#pragma once

#include "view/timeline/nesting.h"
#include "view/timeline/timeline.h"

struct timeline_kept_cell;
struct timeline_kept_item;
struct timeline_row_cells;

struct timeline_kept {
	struct timeline_rows rows; /* with their sums */
	uint64_t start_ns, width_ns;
	uint64_t first_ns, last_ns; /* of all events; first_ns is UINT64_MAX where there are none */
	struct vec(struct timeline_row_cells) cells; /* by row */
	struct vec(struct timeline_kept_item) items; /* long ones */
	struct vec(struct nesting) nestings;	     /* by row, of markers */
	size_t cell_count;
};

void timeline_kept_init(struct timeline_kept *k, uint64_t start_ns, uint64_t end_ns);
void timeline_kept_release(struct timeline_kept *k);
/* Adds an event: 0 or -ENOMEM with error_text. */
int timeline_kept_add(
	struct timeline_kept *k, const struct profile_reader *r, const struct profile_event *e);
/* Whether an axis is made up of whole columns. */
bool timeline_kept_fits(const struct timeline_kept *k, const struct timeline_wanted *w);
/* As timeline_read, of an axis that fits. */
int timeline_kept_read(
	struct timeline *t, struct timeline_kept *k, const struct timeline_wanted *w);
