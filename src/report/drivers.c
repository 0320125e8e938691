// SPDX-License-Identifier: MIT
/* What GPU drivers did in the kernel: rings with their jobs, then everything else by its name. */
#include "base/json_writer.h"
#include "base/text.h"
#include "report/sections.h"
#include "report/table.h"

/* "drm gfx_0.0.0: wait for sdma0" */
static void put_name(
	const struct report *r, struct buf *b, uint32_t source, uint32_t ring, uint32_t name)
{
	buf_puts(b, profile_string(r->reader, source, NULL));
	if (ring)
		buf_printf(b, " %s", profile_string(r->reader, ring, NULL));
	if (name)
		buf_printf(b, ": %s", profile_string(r->reader, name, NULL));
}

static void put_times(struct json_writer *w, const char *name, const struct histogram *h)
{
	json_begin(w, name, '{');
	json_number(w, "count", h->count);
	json_number(w, "total_ns", h->sum);
	json_number(w, "min_ns", h->min);
	json_number(w, "p50_ns", histogram_percentile(h, 50));
	json_number(w, "p90_ns", histogram_percentile(h, 90));
	json_number(w, "p99_ns", histogram_percentile(h, 99));
	json_number(w, "max_ns", h->max);
	json_end(w, '}');
}

/* ------------------------------------------------------------------ rings */

static void ring_name(const struct report *r, const void *row, struct buf *b)
{
	const struct driver_ring *ring = row;

	put_name(r, b, ring->source, ring->ring, 0);
}

static void ring_times(const struct report *r, const void *row, struct json_writer *w)
{
	const struct driver_ring *ring = row;

	(void)r;
	put_times(w, "queue_delay", &ring->queued);
	put_times(w, "run_time", &ring->run);
}

static const struct column ring_columns[] = {
	{.key = "source", STRING(struct driver_ring, source)},
	{.key = "ring", STRING(struct driver_ring, ring)},
	{"jobs", "jobs", 1, 10, COUNT(struct driver_ring, jobs)},
	{.key = "unfinished", COUNT(struct driver_ring, unfinished)},
	{"run time", "run_ns", 6, 9, DURATION(struct driver_ring, run_ns)},
	{.key = "foreign_jobs", COUNT(struct driver_ring, foreign_jobs)},
	{.key = "foreign_run_ns", DURATION(struct driver_ring, foreign_ns)},
	{.key = "busy_ns", DURATION(struct driver_ring, busy_ns)},
	{.key = "busy_uncertain_ns", DURATION(struct driver_ring, uncertain_ns)},
	{"busy", "busy_share", 7, 8, SHARE_OF(struct driver_ring, busy_ns, report_elapsed_ns)},
	{.json = ring_times},
	{"queue p50", NULL, 2, 9, PERCENTILE(struct driver_ring, queued, 50)},
	{"queue p99", NULL, 3, 9, PERCENTILE(struct driver_ring, queued, 99)},
	{"run p50", NULL, 4, 9, PERCENTILE(struct driver_ring, run, 50)},
	{"run p99", NULL, 5, 9, PERCENTILE(struct driver_ring, run, 99)},
	{"foreign", NULL, 8, 8, SHARE(struct driver_ring, foreign_ns, run_ns)},
	{"ring", NULL, COLUMN_LAST, .text = ring_name},
};

static const struct table rings = {.title = "Rings of GPU drivers",
	.key = "rings",
	TABLE_COLUMNS(ring_columns),
	TABLE_ROWS(summary, drivers.rings),
	.pointers = true};

static void put_rings(const struct report *r, struct buf *out)
{
	uint64_t unfinished = 0, uncertain_ns = 0;
	char cell[TEXT_CELL];

	table_text(r, &rings, out);
	vec_foreach (ring, &r->summary->drivers.rings) {
		unfinished += (*ring)->unfinished;
		uncertain_ns += (*ring)->uncertain_ns;
	}
	if (unfinished)
		buf_printf(out,
			"%10s job%s had not ended when the recording did: not in the percentiles\n",
			text_count(cell, unfinished), unfinished == 1 ? "" : "s");
	if (uncertain_ns)
		buf_printf(out,
			"%10s of busy time at most may be missing, as jobs were reported too "
			"late\n",
			text_duration(cell, uncertain_ns));
}

/* ------------------------------------------------------------------ everything else */

static bool is_moment(const void *row)
{
	return ((const struct driver_row *)row)->kind == DRIVER_MOMENT;
}

static bool has_no_size(const void *row)
{
	return !((const struct driver_row *)row)->bytes;
}

static void event_name(const struct report *r, const void *row, struct buf *b)
{
	const struct driver_row *event = row;

	put_name(r, b, event->source, event->ring, event->name);
}

static void event_times(const struct report *r, const void *row, struct json_writer *w)
{
	(void)r;
	put_times(w, "times", &((const struct driver_row *)row)->times);
}

static const struct column event_columns[] = {
	{.key = "source", STRING(struct driver_row, source)},
	{.key = "ring", STRING(struct driver_row, ring)},
	{.key = "name", STRING(struct driver_row, name)},
	{.key = "kind", NAME(struct driver_row, kind, profile_driver_kind_name)},
	{"count", "count", 1, 10, COUNT(struct driver_row, count)},
	{.key = "foreign", COUNT(struct driver_row, foreign)},
	{.key = "unfinished", COUNT(struct driver_row, unfinished)},
	{"size", "bytes", 5, 9, BYTES(struct driver_row, bytes), .is_absent = has_no_size},
	{"time", "total_ns", 2, 9, DURATION(struct driver_row, total_ns), .is_absent = is_moment},
	{.json = event_times},
	{"p50", NULL, 3, 9, PERCENTILE(struct driver_row, times, 50)},
	{"p99", NULL, 4, 9, PERCENTILE(struct driver_row, times, 99)},
	{"event", NULL, COLUMN_LAST, .text = event_name},
};

static const struct table events = {.title = "Driver events",
	.key = "events",
	TABLE_COLUMNS(event_columns),
	TABLE_ROWS(summary, drivers.rows),
	.pointers = true};

/* ------------------------------------------------------------------ both */

void report_drivers_text(const struct report *r, struct buf *out)
{
	char cell[TEXT_CELL];

	put_rings(r, out);
	table_text(r, &events, out);
	if (r->summary->drivers.uncounted)
		buf_printf(out, "%10s more, of too many kinds to list\n",
			text_count(cell, r->summary->drivers.uncounted));
}

void report_drivers_json(const struct report *r, struct json_writer *w)
{
	json_begin(w, "drivers", '{');
	json_text(w, "watched", profile_meta(r->reader, META_DRIVERS));
	json_text_lines(w, "refused", profile_meta(r->reader, META_DRIVERS_REFUSED));
	json_number(w, "count", r->summary->drivers.count);
	json_number(w, "uncounted", r->summary->drivers.uncounted);
	report_percentile_error(r, NULL, w);
	table_json(r, &rings, w);
	table_json(r, &events, w);
	json_end(w, '}');
}
