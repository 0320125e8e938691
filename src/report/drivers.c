// SPDX-License-Identifier: MIT
/*
 * What GPU drivers did in the kernel, in `xpuprof report`: rings with their jobs, then everything else by its name;
 * and the member "drivers" of --json, whose form is documented in xpuprof-report(1).
 */
#include "base/json_writer.h"
#include "report/report.h"
#include "base/text.h"

#define RING_COLUMNS 80
#define ROW_COLUMNS  52
#define NAME_MIN     14

static const char *string(const struct report *r, uint32_t id)
{
	return profile_string(r->reader, id, NULL);
}

static void put_heading(
	const struct report *r, struct buf *out, const char *title, size_t count, size_t *ret_shown)
{
	*ret_shown = r->top && r->top < count ? r->top : count;
	buf_printf(out, "\n%s", title);
	if (*ret_shown < count)
		buf_printf(out, " (%zu of %zu)", *ret_shown, count);
	buf_putc(out, '\n');
}

/* "drm gfx_0.0.0: wait for sdma0" */
static void put_name(const struct report *r, struct buf *out, unsigned int used, uint32_t source,
	uint32_t ring, uint32_t name)
{
	struct buf text = BUF_INIT;

	buf_puts(&text, string(r, source));
	if (ring)
		buf_printf(&text, " %s", string(r, ring));
	if (name)
		buf_printf(&text, ": %s", string(r, name));
	text_fit(out, buf_text(&text),
		!r->width		     ? 0
		: r->width > used + NAME_MIN ? r->width - used
					     : NAME_MIN);
	buf_putc(out, '\n');
	out->failed |= text.failed;
	buf_release(&text);
}

static const char *percentile(char cell[TEXT_CELL], const struct histogram *h, double percent)
{
	return h->count ? text_duration(cell, histogram_percentile(h, percent)) : "-";
}

static void put_ring(const struct report *r, struct buf *out, const struct driver_ring *ring)
{
	uint64_t elapsed_ns = r->summary->end_ns - r->summary->start_ns;
	char cell[TEXT_CELL];

	buf_printf(out, "%10s", text_count(cell, ring->jobs));
	buf_printf(out, " %9s", percentile(cell, &ring->queued, 50));
	buf_printf(out, " %9s", percentile(cell, &ring->queued, 99));
	buf_printf(out, " %9s", percentile(cell, &ring->run, 50));
	buf_printf(out, " %9s", percentile(cell, &ring->run, 99));
	buf_printf(out, " %9s", text_duration(cell, ring->run_ns));
	buf_printf(out, " %8s", text_percent(cell, ring->busy_ns, elapsed_ns));
	buf_printf(out, " %8s  ", text_percent(cell, ring->foreign_ns, ring->run_ns));
	put_name(r, out, RING_COLUMNS, ring->source, ring->ring, 0);
}

static void put_rings(const struct report *r, struct buf *out)
{
	const struct driver_sums *d = &r->summary->drivers;
	uint64_t unfinished = 0, uncertain_ns = 0;
	char cell[TEXT_CELL];
	size_t shown;

	if (!d->rings.count)
		return;
	put_heading(r, out, "Rings of GPU drivers", d->rings.count, &shown);
	buf_printf(out, "%10s %9s %9s %9s %9s %9s %8s %8s  %s\n", "jobs", "queue p50", "queue p99",
		"run p50", "run p99", "run time", "busy", "foreign", "ring");
	for (size_t n = 0; n < shown; n++)
		put_ring(r, out, d->rings.items[n]);
	vec_foreach (ring, &d->rings) {
		unfinished += (*ring)->unfinished;
		uncertain_ns += (*ring)->uncertain_ns;
	}
	if (unfinished)
		buf_printf(out, "%10s job%s had not ended when the recording did: not in the percentiles\n",
			text_count(cell, unfinished), unfinished == 1 ? "" : "s");
	if (uncertain_ns)
		buf_printf(out,
			"%10s of busy time at most may be missing, as jobs were told of too late\n",
			text_duration(cell, uncertain_ns));
}

static void put_row(const struct report *r, struct buf *out, const struct driver_row *row)
{
	char cell[TEXT_CELL];

	buf_printf(out, "%10s", text_count(cell, row->count));
	buf_printf(
		out, " %9s", row->kind == DRIVER_MOMENT ? "-" : text_duration(cell, row->total_ns));
	buf_printf(out, " %9s", percentile(cell, &row->times, 50));
	buf_printf(out, " %9s", percentile(cell, &row->times, 99));
	buf_printf(out, " %9s  ", row->bytes ? text_bytes(cell, row->bytes) : "-");
	put_name(r, out, ROW_COLUMNS, row->source, row->ring, row->name);
}

void report_drivers_text(const struct report *r, struct buf *out)
{
	const struct driver_sums *d = &r->summary->drivers;
	char cell[TEXT_CELL];
	size_t shown;

	put_rings(r, out);
	if (d->rows.count) {
		put_heading(r, out, "Driver events", d->rows.count, &shown);
		buf_printf(out, "%10s %9s %9s %9s %9s  %s\n", "count", "time", "p50", "p99", "size",
			"event");
		for (size_t n = 0; n < shown; n++)
			put_row(r, out, d->rows.items[n]);
	}
	if (d->uncounted)
		buf_printf(out, "%10s more, of too many kinds to tell apart\n",
			text_count(cell, d->uncounted));
}

/* --- JSON ----------------------------------------------------------------------------------- */

static void text_id(const struct report *r, struct json_writer *w, const char *name, uint32_t id)
{
	json_text(w, name, id ? string(r, id) : NULL);
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

static void put_json_ring(
	const struct report *r, struct json_writer *w, const struct driver_ring *ring)
{
	uint64_t elapsed_ns = r->summary->end_ns - r->summary->start_ns;

	json_begin(w, NULL, '{');
	text_id(r, w, "source", ring->source);
	text_id(r, w, "ring", ring->ring);
	json_number(w, "jobs", ring->jobs);
	json_number(w, "unfinished", ring->unfinished);
	json_number(w, "run_ns", ring->run_ns);
	json_number(w, "foreign_jobs", ring->foreign_jobs);
	json_number(w, "foreign_run_ns", ring->foreign_ns);
	json_number(w, "busy_ns", ring->busy_ns);
	json_number(w, "busy_uncertain_ns", ring->uncertain_ns);
	json_real(w, "busy_share", elapsed_ns ? (double)ring->busy_ns / (double)elapsed_ns : 0);
	put_times(w, "queue_delay", &ring->queued);
	put_times(w, "run_time", &ring->run);
	json_end(w, '}');
}

static void put_json_row(
	const struct report *r, struct json_writer *w, const struct driver_row *row)
{
	json_begin(w, NULL, '{');
	text_id(r, w, "source", row->source);
	text_id(r, w, "ring", row->ring);
	text_id(r, w, "name", row->name);
	json_text(w, "kind", profile_driver_kind_name(row->kind));
	json_number(w, "count", row->count);
	json_number(w, "foreign", row->foreign);
	json_number(w, "unfinished", row->unfinished);
	json_number(w, "bytes", row->bytes);
	json_number(w, "total_ns", row->total_ns);
	put_times(w, "times", &row->times);
	json_end(w, '}');
}

void report_drivers_json(const struct report *r, struct json_writer *w)
{
	const struct driver_sums *d = &r->summary->drivers;
	size_t rings = r->top && r->top < d->rings.count ? r->top : d->rings.count;
	size_t rows = r->top && r->top < d->rows.count ? r->top : d->rows.count;

	json_begin(w, "drivers", '{');
	json_text(w, "watched", profile_meta(r->reader, META_DRIVERS));
	json_text(w, "refused", profile_meta(r->reader, META_DRIVERS_REFUSED));
	json_number(w, "count", d->count);
	json_number(w, "uncounted", d->uncounted);
	json_real(w, "percentile_error_percent", HISTOGRAM_ERROR_PERCENT);
	json_begin(w, "rings", '[');
	for (size_t n = 0; n < rings; n++)
		put_json_ring(r, w, d->rings.items[n]);
	json_end(w, ']');
	json_begin(w, "events", '[');
	for (size_t n = 0; n < rows; n++)
		put_json_row(r, w, d->rows.items[n]);
	json_end(w, ']');
	json_end(w, '}');
}
