// SPDX-License-Identifier: MIT
/* Statistics for machines: one JSON object on a line, or rows of CSV. */
#include <inttypes.h>
#include <string.h>

#include "cmd/monitor/lines.h"
#include "cmd/monitor/stats.h"

static const char *const units[] = {
	[UNIT_COUNT] = "count", [UNIT_NANOSECONDS] = "ns", [UNIT_BYTES] = "bytes"};

static const struct {
	const char *name;
	double percent;
} percentiles[] = {{"p50", 50}, {"p90", 90}, {"p99", 99}};

#define PERCENTILE_COUNT (sizeof(percentiles) / sizeof(percentiles[0]))

static double ratio(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : 0;
}

/* ------------------------------------------------------------------ JSON: series */

static void json_who(struct json_writer *w, const struct monitor_series *s, const struct total *row,
	unsigned int by)
{
	for (size_t i = 0; i < MONITOR_LABELS; i++)
		if (s->label[i] && (by & (TOTAL_BY_LABEL_0 << i)))
			json_text(w, s->label[i], row->label[i][0] ? row->label[i] : NULL);
	if (!(by & TOTAL_BY_PROCESS) || !s->by_process)
		return;
	json_number(w, "pid", row->pid);
	json_text(w, "comm", row->comm);
	if (row->client)
		json_number(w, "client", row->client);
	if (row->cgroup)
		json_number(w, "cgroup", row->cgroup);
}

/* [[lowest value, count], ...] of the buckets that have any. */
static void json_buckets(struct json_writer *w, const struct total *row)
{
	json_begin(w, "buckets", '[');
	for (unsigned int i = 0; i < MONITOR_BUCKETS; i++) {
		if (!row->buckets[i])
			continue;
		json_begin(w, NULL, '[');
		json_number(w, NULL, total_bucket_low(i));
		json_number(w, NULL, row->buckets[i]);
		json_end(w, ']');
	}
	json_end(w, ']');
}

static void json_measures(struct json_writer *w, const struct monitor_stats *st,
	const struct monitor_series *s, const struct total *row)
{
	json_number(w, "sum", row->sum);
	json_real(w, "mean", ratio(row->sum, row->count));
	if (s->histogram || st->whole) {
		json_number(w, "min", row->min);
		json_number(w, "max", row->max);
	}
	for (size_t i = 0; s->histogram && i < PERCENTILE_COUNT; i++)
		json_number(w, percentiles[i].name, total_percentile(row, percentiles[i].percent));
	if (s->rate && row->sum)
		json_real(w, "rate_hz", 1e9 * ratio(row->count, row->sum));
}

static void json_row(struct json_writer *w, const struct monitor_stats *st, uint16_t series,
	const struct total *row, unsigned int by)
{
	const struct monitor_series *s = &st->monitor->series[series];

	json_begin(w, NULL, '{');
	json_who(w, s, row, by);
	json_number(w, "count", row->count);
	if (totals_has_sums(st->monitor, series))
		json_measures(w, st, s, row);
	if (s->busy && !((by & TOTAL_BY_PROCESS) && monitor_row_is_ended(row))) {
		json_number(w, "busy_ns", row->busy_ns);
		json_number(w, "busy_uncertain_ns", row->busy_uncertain_ns);
		json_real(w, "busy_share", ratio(row->busy_ns, st->until_ns - st->from_ns));
	}
	if (s->histogram && !(by & TOTAL_BY_PROCESS))
		json_buckets(w, row);
	json_end(w, '}');
}

static void json_rows(struct json_writer *w, const struct monitor_stats *st, uint16_t series,
	const char *name, unsigned int by)
{
	struct totals rows;

	if (totals_merge(st->totals, series, by, &rows)) {
		w->out->failed = true;
		return;
	}
	json_begin(w, name, '[');
	vec_foreach (row, &rows.rows)
		json_row(w, st, series, row, by);
	json_end(w, ']');
	totals_release(&rows);
}

static void json_series(struct json_writer *w, const struct monitor_stats *st, uint16_t series)
{
	const struct monitor_series *s = &st->monitor->series[series];

	json_begin(w, s->name, '{');
	json_text(w, "title", s->title);
	json_text(w, "unit", units[s->unit]);
	json_rows(w, st, series, "rows", TOTAL_BY_LABELS);
	if (s->by_process) {
		json_rows(w, st, series, "processes", TOTAL_BY_PROCESS);
		json_rows(w, st, series, "rows_by_process", TOTAL_BY_LABELS | TOTAL_BY_PROCESS);
	}
	json_end(w, '}');
}

/* ------------------------------------------------------------------ JSON: events, what was left */

static void json_event(struct json_writer *w, const struct monitor_stats *st, size_t event)
{
	const struct watch_event_status *s = &st->status[event];
	const struct monitor_losses *l = &s->totals;
	const char *why_not = monitor_why_not_watched(s);

	json_begin(w, NULL, '{');
	json_text(w, "event", st->monitor->events[event].name);
	json_bool(w, "watched", !why_not);
	if (why_not)
		json_text(w, "reason", why_not);
	if (s->attached && s->plan && s->plan->source)
		json_text(w, "source", s->plan->source->name);
	json_number(w, "seen", l->seen);
	json_number(w, "lost_records", l->records);
	json_number(w, "lost_objects", l->objects);
	json_number(w, "lost_cells", l->cells);
	json_number(w, "lost_stacks", l->stacks);
	json_number(w, "unread", l->unread);
	json_number(w, "began_before", l->strangers);
	if (s->missed_known)
		json_number(w, "missed", s->missed);
	json_end(w, '}');
}

static void json_stack(struct json_writer *w, const char *frames)
{
	json_begin(w, "stack", '[');
	while (frames && *frames) {
		size_t length = strcspn(frames, "\n");
		struct buf frame = BUF_INIT;

		buf_append(&frame, frames, length);
		buf_puts(&frame, "");
		json_text(w, NULL, buf_text(&frame));
		buf_release(&frame);
		frames += length + (frames[length] != '\0');
	}
	json_end(w, ']');
}

static void json_left(struct json_writer *w, const struct monitor_stats *st, const struct left *l)
{
	const struct monitor_object_row *o = &st->monitor->objects[l->object];

	json_begin(w, o->name, '{');
	json_text(w, "title", o->left);
	json_bool(w, "known", !l->unknown[0]);
	if (l->unknown[0])
		json_text(w, "reason", l->unknown);
	json_number(w, "count", l->count);
	if (o->by_stack)
		json_number(w, "sum_bytes", l->sum);
	if (l->unreadable)
		json_number(w, "files_unreadable", l->unreadable);
	json_begin(w, "rows", '[');
	for (size_t i = 0; i < l->rows.count; i++) {
		const struct left_row *r = &l->rows.items[i];

		json_begin(w, NULL, '{');
		json_number(w, "pid", r->pid);
		json_text(w, "comm", r->comm);
		if (r->label[0])
			json_text(w, "ring", r->label);
		json_number(w, "count", r->count);
		if (o->by_stack)
			json_number(w, "sum_bytes", r->sum);
		json_number(w, "first_ns", r->first_ns);
		if (r->stack)
			json_stack(w, r->stack);
		if (r->not_kept)
			json_bool(w, "stack_lost", true);
		if (r->unnamed)
			json_text(w, "unnamed", r->unnamed);
		json_end(w, '}');
	}
	json_end(w, ']');
	json_end(w, '}');
}

static void json_head(struct json_writer *w, const struct monitor_stats *s)
{
	json_text(w, "monitor", s->monitor->name);
	json_number(w, "from_ns", s->from_ns);
	json_number(w, "until_ns", s->until_ns);
	if (s->pid)
		json_number(w, "pid", s->pid);
	if (!s->ring)
		return;
	json_text(w, "ring", s->ring);
	json_begin(w, "rings_seen", '[');
	vec_foreach (row, &s->totals->rows)
		if (row->series == MONITOR_SERIES_LABELS)
			json_text(w, NULL, row->label[0]);
	json_end(w, ']');
}

void monitor_stats_json(const struct monitor_stats *s, struct buf *out)
{
	struct json_writer w = {.out = out};

	json_begin(&w, NULL, '{');
	json_begin(&w, s->whole ? "statistics" : "interval", '{');
	json_head(&w, s);
	json_begin(&w, "events", '[');
	for (size_t e = 0; e < s->event_count; e++)
		json_event(&w, s, e);
	json_end(&w, ']');
	json_begin(&w, "series", '{');
	for (uint16_t n = 0; s->monitor->series[n].name; n++)
		json_series(&w, s, n);
	json_end(&w, '}');
	if (s->whole) {
		json_begin(&w, "left", '{');
		vec_foreach (l, &s->left)
			json_left(&w, s, l);
		json_end(&w, '}');
		if (s->monitor->note)
			json_text(&w, "note", s->monitor->note);
	}
	json_end(&w, '}');
	json_end(&w, '}');
	buf_putc(out, '\n');
}

/* ------------------------------------------------------------------ CSV */

void monitor_stats_csv_heading(struct buf *out)
{
	buf_puts(out, "what,from_ns,until_ns,series,unit,label,other,pid,comm,client,count,sum,"
		      "mean,min,p50,p90,p99,max,"
		      "busy_ns\n");
}

static void csv_begin(
	const struct monitor_stats *s, const char *series, const char *unit, struct buf *out)
{
	buf_printf(out, "%s,%" PRIu64 ",%" PRIu64 ",%s,%s,", s->whole ? "total" : "interval",
		s->from_ns, s->until_ns, series, unit);
}

static void csv_measures(const struct monitor_stats *s, const struct monitor_series *series,
	const struct total *row, struct buf *out)
{
	bool extremes = series->histogram || s->whole;

	buf_printf(out, ",%" PRIu64 ",%.6g,", row->sum, ratio(row->sum, row->count));
	if (extremes)
		buf_printf(out, "%" PRIu64, row->min);
	for (size_t i = 0; i < PERCENTILE_COUNT; i++) {
		buf_putc(out, ',');
		if (series->histogram)
			buf_printf(out, "%" PRIu64, total_percentile(row, percentiles[i].percent));
	}
	buf_putc(out, ',');
	if (extremes)
		buf_printf(out, "%" PRIu64, row->max);
}

static void csv_row(const struct monitor_stats *s, const struct total *row, struct buf *out)
{
	const struct monitor_series *series = &s->monitor->series[row->series];

	csv_begin(s, series->name, units[series->unit], out);
	csv_text(out, row->label[0]);
	buf_putc(out, ',');
	csv_text(out, row->label[1]);
	if (series->by_process) {
		buf_printf(out, ",%u,", row->pid);
		csv_text(out, row->comm);
		buf_putc(out, ',');
	} else {
		buf_puts(out, ",,,");
	}
	if (row->client)
		buf_printf(out, "%" PRIu64, row->client);
	buf_printf(out, ",%" PRIu64, row->count);
	if (totals_has_sums(s->monitor, row->series))
		csv_measures(s, series, row, out);
	else
		buf_puts(out, ",,,,,,,");
	buf_putc(out, ',');
	if (series->busy && !(series->by_process && monitor_row_is_ended(row)))
		buf_printf(out, "%" PRIu64, row->busy_ns);
	buf_putc(out, '\n');
}

/* A count by event; `always`: also when it is 0. */
static void csv_event(const struct monitor_stats *s, const char *series, size_t event,
	uint64_t count, bool always, struct buf *out)
{
	if (!count && !always)
		return;
	csv_begin(s, series, "count", out);
	buf_printf(out, "%s,,,,,%" PRIu64 ",,,,,,,,\n", s->monitor->events[event].name, count);
}

/* Busy time of all processes together stands in rows without one. */
static void csv_busy(const struct monitor_stats *s, struct buf *out)
{
	vec_foreach (b, &s->totals->busy) {
		if (b->pid)
			continue;
		csv_begin(s, s->monitor->series[b->series].name, "ns", out);
		csv_text(out, b->label[0]);
		buf_putc(out, ',');
		csv_text(out, b->label[1]);
		buf_printf(out, ",,,,,,,,,,,,%" PRIu64 "\n", b->busy_ns);
	}
}

void monitor_stats_csv(const struct monitor_stats *s, struct buf *out)
{
	vec_foreach (row, &s->totals->rows)
		if (row->series != MONITOR_SERIES_LABELS)
			csv_row(s, row, out);
	csv_busy(s, out);
	for (size_t e = 0; e < s->event_count; e++) {
		const struct monitor_losses *l = &s->status[e].totals;

		csv_event(s, "events_seen", e, l->seen, s->status[e].attached, out);
		csv_event(s, "events_missed", e, s->status[e].missed, false, out);
		csv_event(s, "lost_records", e, l->records, false, out);
		csv_event(s, "lost_objects", e, l->objects, false, out);
		csv_event(s, "lost_cells", e, l->cells, false, out);
		csv_event(s, "lost_stacks", e, l->stacks, false, out);
		csv_event(s, "unread", e, l->unread, false, out);
		csv_event(s, "began_before", e, l->strangers, false, out);
	}
	vec_foreach (l, &s->left)
		if (!l->unknown[0]) {
			csv_begin(s, "left", "count", out);
			csv_text(out, s->monitor->objects[l->object].name);
			buf_printf(out, ",,,,,%" PRIu64 ",%" PRIu64 ",,,,,,,\n", l->count, l->sum);
		}
}
