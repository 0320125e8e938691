// SPDX-License-Identifier: MIT
/* Numbers that were written down beside the recording. */
#include "base/json_writer.h"
#include "report/sections.h"
#include "report/table.h"
#include "view/tables/metric_sums.h"

static void name_of(const struct report *r, const void *row, struct buf *b)
{
	const struct metric_row *m = row;
	const struct profile_counter *c = profile_counter(r->reader, m->counter);

	buf_puts(b, c ? profile_string(r->reader, c->name, NULL) : "?");
}

static void average_text(const struct report *r, const void *row, struct buf *b)
{
	buf_printf(b, "%.6g", metric_average(row));
}

static void min_text(const struct report *r, const void *row, struct buf *b)
{
	buf_printf(b, "%.6g", ((const struct metric_row *)row)->min);
}

static void max_text(const struct report *r, const void *row, struct buf *b)
{
	buf_printf(b, "%.6g", ((const struct metric_row *)row)->max);
}

static void numbers_json(const struct report *r, const void *row, struct json_writer *w)
{
	const struct metric_row *m = row;

	json_real(w, "average", metric_average(m));
	json_real(w, "min", m->min);
	json_real(w, "max", m->max);
}

// clang-format off
static const struct column columns[] = {
	{"metric", "name", COLUMN_LAST, .text = name_of},
	{"values", "values", 4, 8, COUNT(struct metric_row, count)},
	{.key = "ns", DURATION(struct metric_row, total_ns)},
	{"average", NULL, 1, 12, COLUMN_TEXT, .text = average_text},
	{"min", NULL, 2, 12, COLUMN_TEXT, .text = min_text},
	{"max", NULL, 3, 12, COLUMN_TEXT, .text = max_text},
	{.json = numbers_json},
};
// clang-format on

const struct table report_metrics = {.title = "Metrics",
	.key = "metrics",
	TABLE_COLUMNS(columns),
	TABLE_ROWS(summary, metrics.rows)};
