/* SPDX-License-Identifier: MIT */
/*
 * A stretch of a recording on a time axis, as fine as a screen can show it.
 *
 *	columns   |    0    |    1    |    2    |    3    |
 *	events      ##  #  #   [===== a box =====]  ##
 *	cells       2.1 %      -          -         1.2 %	of the column, and how many
 *
 * The stretch is divided into columns of equal length, to the nanosecond. What is at least two of
 * them long becomes a box; of all else each cell, a row in a column, has how much time it is and
 * how many events began there. So nothing is left out, however rare or short: boxes and cells
 * add up to all the time of the row in the stretch.
 */
#pragma once

#include "view/timeline/rows.h"

struct timeline_wanted {
	uint64_t from_ns, to_ns; /* to_ns is greater */
	uint32_t columns;	 /* 0: rows and their sums alone */
	/* rows that are wanted, by number; NULL: cells of all rows of a kind together, in a row for
	 * each kind, and no boxes */
	const bool *rows;
	size_t row_count;
	size_t boxes_max; /* what is more goes into cells */
};

/* What an event is, by the kind of its row: an op, a wait reason or a string; of markers `domain`
 * as well, a string. */
struct timeline_what {
	uint32_t id, domain;
};

/* What a cell has beside its time. */
union timeline_more {
	double value;		   /* of counters: times nanoseconds */
	struct timeline_what what; /* else: of all that begin there; id 0: of several kinds */
};

struct timeline_cell {
	uint64_t time_ns;
	uint64_t count; /* of events that begin there */
	union timeline_more more;
};

struct timeline_box {
	uint32_t row;
	struct timeline_what what;
	uint64_t begin_ns, end_ns;
};

struct timeline {
	const struct timeline_wanted *wanted;
	struct timeline_rows *rows;
	struct timeline_cell **cells; /* by row, or by kind; NULL: none there */
	size_t cell_rows;
	struct vec(struct timeline_box) boxes;
};

/* An event as an axis has it. */
struct timeline_item {
	uint64_t begin_ns, end_ns;
	uint64_t time_ns; /* all of it at its begin, where it is no stretch of time */
	struct timeline_what what;
	double value; /* of a counter */
};

/* Reads all events. Rows that are new are added to `rows`; their sums are left alone. 0 or -errno
 * with error_text, and nothing to release. Holds on to `rows` and `w`. */
int timeline_read(struct timeline *t, struct timeline_rows *rows, struct profile_reader *r,
	const struct timeline_wanted *w);
void timeline_release(struct timeline *t);

/* For those who keep items (kept.h): the item of an event that is on a row, and what is wanted of
 * an item or of a cell that was made before. 0 or -ENOMEM with error_text. */
struct timeline_item timeline_item_of(const struct profile_event *e);
int timeline_put(struct timeline *t, uint32_t row, const struct timeline_item *i);
/* Adds to what a cell of this kind of row has beside its time; before the counts are added. */
void timeline_more_add(enum timeline_kind kind, union timeline_more *to, uint64_t to_count,
	const union timeline_more *more, uint64_t count);
int timeline_put_cell(
	struct timeline *t, uint32_t row, uint64_t begin_ns, const struct timeline_cell *c);

/* Boxes that are not kept become parts of cells, as if they had been too short to be boxes. */
int timeline_fold(struct timeline *t,
	bool (*keeps)(const void *arg, const struct timeline_box *box), const void *arg);

/* Where a column begins; that of `columns` is the end of the stretch. */
uint64_t timeline_column_ns(const struct timeline_wanted *w, uint32_t column);
/* Appends what a box is: a kernel's readable name, "copy HtoD", a call, a reason to wait, a marker
 * ("name (domain)"). After the last event. */
void timeline_name(const struct profile_reader *r, enum timeline_kind kind,
	struct timeline_what what, struct buf *b);
