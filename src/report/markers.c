// SPDX-License-Identifier: MIT
/* Stretches of time that programs gave names. */
#include "base/json_writer.h"
#include "report/sections.h"
#include "report/table.h"

static void marker_name(const struct report *r, const void *row, struct buf *b)
{
	const struct marker_row *m = row;

	if (m->domain)
		buf_printf(b, "%s: ", profile_string(r->reader, m->domain, NULL));
	buf_puts(b, profile_string(r->reader, m->name, NULL));
}

/* It began before the part that is shown, each time. */
static bool has_no_begin(const void *row)
{
	return !((const struct marker_row *)row)->count;
}

// clang-format off
static const struct column columns[] = {
	{.key = "name", STRING(struct marker_row, name)},
	{.key = "domain", STRING(struct marker_row, domain)},
	{"count", "count", 3, 11, COUNT(struct marker_row, count)},
	{"total", "total_ns", 1, 10, DURATION(struct marker_row, total_ns)},
	{"of time", NULL, 2, 8, SHARE_OF(struct marker_row, total_ns, report_elapsed_ns)},
	{"mean", "mean_ns", 4, 9, MEAN(struct marker_row, total_ns, count), .is_absent = has_no_begin},
	{"max", "max_ns", 5, 9, DURATION(struct marker_row, max_ns)},
	{"marker", NULL, COLUMN_LAST, .text = marker_name, .if_empty = "(no name)"},
};
// clang-format on

const struct table report_markers = {.title = "Markers",
	.key = "markers",
	TABLE_COLUMNS(columns),
	TABLE_ROWS(summary, markers.rows)};
