/* SPDX-License-Identifier: MIT */
/*
 * A table of a report, described once. table_text writes it for people and table_json for programs,
 * both into a buffer:
 *
 *	Kernels (2 of 37)                               {"kernels": [
 *	     total   of GPU   count      mean  kernel      {"name": "gemm", "count": 6, "total_ns": 3000000, ...
 *	   3.00 ms   60.0 %       6    500 us  gemm
 *
 * A description is constant: the rows, and the columns. A column has its name in either form, the
 * kind of its value, and the offset of that in a row. Columns are in the order of the JSON;
 * `position` is their order in the text. Numbers are right-aligned and come first; a name comes
 * last and is cut at the width of the report, so that nothing else moves.
 */
#pragma once

#include <stddef.h>

#include "report/sections.h"

enum column_kind {	      /* the text; the JSON */
	COLUMN_TEXT,	      /* what `text` appends, in both */
	COLUMN_STRING,	      /* the string of an id; null for 0 */
	COLUMN_NAME,	      /* what `name_of` calls a number, in both */
	COLUMN_COUNT,	      /* "1,234"; 1234 */
	COLUMN_DURATION,      /* "1.23 ms"; 1230000 */
	COLUMN_SAMPLED,	      /* the sum of so many samples: "1.2 ms"; 1230000 */
	COLUMN_SAMPLED_SHARE, /* of it: "12 %"; only in the text */
	COLUMN_BYTES,	      /* "1.23 MB"; 1230000 */
	COLUMN_MEAN,	      /* a duration by a count: "1.23 ms"; 1230000.5 */
	COLUMN_SHARE,	      /* a part by a whole: "12.3 %"; 0.123 */
	COLUMN_RATE,	      /* bytes by nanoseconds: "25.1 GB/s"; 25.1 */
	COLUMN_PERCENTILE,    /* of durations in a histogram: "1.23 ms"; 1230000 */
	COLUMN_RANGE,	      /* how far a sum may be off: "+- 3.1 %"; two members: its bounds */
};

/* In which reports a column is, in either form: sums of GPU work are estimates or not. */
enum column_when { COLUMN_ALWAYS, COLUMN_ESTIMATED, COLUMN_NOT_ESTIMATED };

struct column {
	const char *heading;   /* NULL: the column is not in the text */
	const char *key;       /* NULL: not in the JSON */
	unsigned int position; /* in the text, from 1 on, or COLUMN_LAST */
	unsigned int width;    /* in the text, of all but the last */
	enum column_kind kind;
	/* offsets in the row and the size of the number there; of: the divisor, or the number of
	 * samples */
	unsigned int at, size, of; /* of a range: the sum */
	const char *high_key; /* of a range: the member beside `key`, which is the lower bound */
	uint64_t (*whole)(const struct report *r); /* the divisor, where it is not in the row */
	double percent;				   /* of a percentile */
	const char *(*name_of)(unsigned int number);
	bool (*is_absent)(const void *row); /* where the text has "-" */
	/* NULL: always; else the text has the column only of reports for which this holds */
	bool (*is_shown)(const struct report *r);
	enum column_when when;
	bool wide, left, apart; /* only where lines are long; left-aligned; two blanks before it */
	void (*text)(const struct report *r, const void *row, struct buf *b);
	/* For the last column: what cuts its text (NULL: text_fit), what it is if empty, and
	 * instead of all that what appends it in so many columns (0: no limit). */
	void (*cut)(struct buf *b, const char *text, unsigned int columns);
	const char *if_empty;
	void (*fit)(const struct report *r, const void *row, unsigned int columns, struct buf *b);
	/* Instead of the kind's JSON: one or several members. */
	void (*json)(const struct report *r, const void *row, struct json_writer *w);
};

#define COLUMN_LAST 12 /* positions are below it */

/* A number of a row; and two of which one is divided by the other. */
#define COLUMN_FIELD(type, field) .at = offsetof(type, field), .size = sizeof(((type *)0)->field)
#define COLUMN_OF(type, field)	  /* fails to compile unless it is 64 bits wide */                 \
	.of = offsetof(type, field) +                                                              \
	      0 * sizeof(char[sizeof(((type *)0)->field) == sizeof(uint64_t) ? 1 : -1])
// clang-format off
#define COUNT(type, field)	  .kind = COLUMN_COUNT, COLUMN_FIELD(type, field)
#define DURATION(type, field)	  .kind = COLUMN_DURATION, COLUMN_FIELD(type, field)
#define BYTES(type, field)	  .kind = COLUMN_BYTES, COLUMN_FIELD(type, field)
#define STRING(type, field)	  .kind = COLUMN_STRING, COLUMN_FIELD(type, field)
#define NAME(type, field, names)  .kind = COLUMN_NAME, COLUMN_FIELD(type, field), .name_of = (names)
#define MEAN(type, sum, count)	  .kind = COLUMN_MEAN, COLUMN_FIELD(type, sum), COLUMN_OF(type, count)
#define RATE(type, bytes, ns)	  .kind = COLUMN_RATE, COLUMN_FIELD(type, bytes), COLUMN_OF(type, ns)
#define SHARE(type, part, all)	  .kind = COLUMN_SHARE, COLUMN_FIELD(type, part), COLUMN_OF(type, all)
#define SHARE_OF(type, part, sum) .kind = COLUMN_SHARE, COLUMN_FIELD(type, part), .whole = (sum)
#define SAMPLED(type, ns, samples) .kind = COLUMN_SAMPLED, COLUMN_FIELD(type, ns), COLUMN_OF(type, samples)
#define SAMPLED_SHARE(type, ns, samples, sum) \
	.kind = COLUMN_SAMPLED_SHARE, COLUMN_FIELD(type, ns), COLUMN_OF(type, samples), .whole = (sum)
#define PERCENTILE(type, histogram, percentage) \
	.kind = COLUMN_PERCENTILE, .at = offsetof(type, histogram), .percent = (percentage)
#define RANGE(type, range, sum, high) .kind = COLUMN_RANGE, COLUMN_FIELD(type, range), \
	COLUMN_OF(type, sum), .high_key = (high), .when = COLUMN_ESTIMATED
// clang-format on

/* Wholes that several tables have shares of. */
uint64_t report_gpu_ns(const struct report *r);
uint64_t report_cpu_ns(const struct report *r);
uint64_t report_elapsed_ns(const struct report *r);
/* Whether sums of GPU work are estimates. */
bool report_is_estimated(const struct report *r);

struct table {
	const char *title, *key;
	const struct column *columns;
	size_t column_count;
	/* its rows: a vec of what a pointer of the report points to; see TABLE_ROWS */
	size_t owner, list, row_size;
	bool pointers;			  /* its items point to the rows */
	bool (*has_row)(const void *row); /* which rows the text has; NULL: all */
	/* Appends to the text what stands below a row, on lines of its own. */
	void (*below)(const struct report *r, const void *row, struct buf *out);
	bool all;	  /* all rows, however many were asked for */
	bool whole_lines; /* what is cut are lines, not names: these have no least width */
};

#define TABLE_COLUMNS(list) .columns = (list), .column_count = sizeof(list) / sizeof(*(list))
/* TABLE_ROWS(summary, kernels): of r->summary->kernels. */
#define TABLE_ROWS(of, field)                                                                      \
	.owner = offsetof(struct report, of),                                                      \
	.list = offsetof(typeof(*((struct report *)0)->of), field),                                \
	.row_size = sizeof(*((struct report *)0)->of->field.items)

/* Title, headings and rows; nothing where there are none. */
void table_text(const struct report *r, const struct table *t, struct buf *out);
/* The member that is a list of the rows. */
void table_json(const struct report *r, const struct table *t, struct json_writer *w);

/* One by one, for tables whose rows are found elsewhere. */
void table_headings(const struct report *r, const struct table *t, struct buf *out);
void table_row_text(
	const struct report *r, const struct table *t, const void *row, struct buf *out);
/* The members of the row's object; table_row_json: the object. */
void table_members(
	const struct report *r, const struct table *t, const void *row, struct json_writer *w);
void table_row_json(
	const struct report *r, const struct table *t, const void *row, struct json_writer *w);

/* For both writers. */
bool column_is_in(const struct report *r, const struct column *c);
uint64_t column_number(const struct column *c, const void *row);
uint64_t column_samples(const struct column *c, const void *row);
const struct spread_range *column_range(const struct column *c, const void *row);
uint64_t column_divisor(const struct report *r, const struct column *c, const void *row);
size_t table_row_count(const struct report *r, const struct table *t);
const void *table_row(const struct report *r, const struct table *t, size_t n);
/* How many of so many rows it has. */
size_t table_rows_shown(const struct report *r, const struct table *t, size_t count);
