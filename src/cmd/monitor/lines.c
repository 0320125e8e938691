// SPDX-License-Identifier: MIT
/*
 * JSON and CSV have the fields under the names of the monitor's table, which are the same on all
 * kernels, and the values that were counted under the names of their series.
 */
#include "cmd/monitor/lines.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/json_writer.h"
#include "base/printable.h"
#include "base/text.h"
#include "monitor/line.h"
#include "monitor/totals.h"

#define EVENT_WIDTH 12
#define TIME_WIDTH  16

/* The largest number that programs which read JSON as floating point can represent. */
#define JSON_NUMBER_MAX ((uint64_t)1 << 53)

/* Columns that every line has; fields of these names are what the columns are made of. */
static const char *const fixed[] = {
	"t_ns", "event", "pid", "tid", "comm", "client", "ring", "other"};

#define FIXED_COUNT (sizeof(fixed) / sizeof(fixed[0]))

static bool is_fixed(const char *name)
{
	for (size_t i = 0; i < FIXED_COUNT; i++)
		if (!strcmp(fixed[i], name))
			return true;
	return false;
}

static bool is_in(const struct monitor_lines *l, const char *name)
{
	vec_foreach (f, &l->fields)
		if (!strcmp(*f, name))
			return true;
	return false;
}

static int add_fields(struct monitor_lines *l, const struct monitor_source *s)
{
	for (size_t i = 0; i < MONITOR_FIELDS && s->fields[i].name; i++) {
		const char *name = s->fields[i].name;

		if (!is_fixed(name) && !is_in(l, name) && vec_push(&l->fields, name))
			return error_memory(NULL);
	}
	return 0;
}

int monitor_lines_init(struct monitor_lines *l, const struct monitor *m,
	const struct watch_event_status *status, enum monitor_form form)
{
	int error = 0;

	*l = (struct monitor_lines){.monitor = m, .status = status, .form = form};
	for (const struct monitor_event *e = m->events; form == FORM_CSV && e->name; e++)
		for (size_t i = 0; !error && i < MONITOR_SOURCES && e->sources[i].name; i++)
			error = add_fields(l, &e->sources[i]);
	return error;
}

void monitor_lines_release(struct monitor_lines *l)
{
	buf_release(&l->line);
	vec_release(&l->fields);
}

/* "run_time_ns", "moved_bytes", "faults": what a series' values are called by machines. */
static void series_key(const struct monitor_series *s, struct buf *out)
{
	static const char *const suffix[] = {
		[UNIT_COUNT] = "", [UNIT_NANOSECONDS] = "_ns", [UNIT_BYTES] = "_bytes"};

	buf_printf(out, "%s%s", s->name, suffix[s->unit]);
}

/* Whether a count's value has more information than that the event came. */
static bool has_value(const struct monitor_count *c)
{
	return c->value > VALUE_ONE;
}

/* ------------------------------------------------------------------ text */

static void end_line(struct monitor_lines *l, struct buf *out)
{
	while (l->line.size && l->line.data[l->line.size - 1] == ' ')
		l->line.data[--l->line.size] = '\0';
	text_fit(out, buf_text(&l->line), l->width);
	buf_putc(out, '\n');
	out->failed |= l->line.failed;
}

/* What was appended from `start` on is made as wide as its column, with a space behind it. */
static void pad(struct buf *line, size_t start, unsigned int width)
{
	size_t columns = line->failed ? width : text_columns(line->data + start);

	buf_printf(line, "%*s", (int)(columns < width ? width - columns : 0) + 1, "");
}

static void text_heading(struct monitor_lines *l, struct buf *out)
{
	const struct monitor *m = l->monitor;

	buf_reset(&l->line);
	buf_printf(&l->line, "%-*s %-*s ", TIME_WIDTH, "TIME(ms)", EVENT_WIDTH, "EVENT");
	for (size_t i = 0; i < MONITOR_COLUMNS && m->column[i]; i++)
		buf_printf(&l->line, "%-*s ", m->width[i], m->column[i]);
	end_line(l, out);
}

static void text_line(struct monitor_lines *l, const struct monitor_record *r, struct buf *out)
{
	const struct monitor *m = l->monitor;

	buf_reset(&l->line);
	buf_printf(
		&l->line, "%" PRIu64 ".%03" PRIu64, r->time_ns / 1000000, r->time_ns / 1000 % 1000);
	pad(&l->line, 0, TIME_WIDTH);
	buf_printf(&l->line, "%-*s ", EVENT_WIDTH, m->events[r->event].name);
	for (size_t i = 0; i < MONITOR_COLUMNS && m->column[i]; i++) {
		size_t start = l->line.size;

		line_column(m, r->event, l->status[r->event].plan, r, i, &l->line);
		pad(&l->line, start, m->width[i]);
	}
	end_line(l, out);
}

/* ------------------------------------------------------------------ JSON */

/* Numbers that many readers would round are text. */
static void json_value(struct json_writer *w, const char *name, const struct line_value *v)
{
	json_key(w, name);
	if (v->kind == LINE_TEXT)
		json_string(w->out, v->text, v->length);
	else if (v->kind == LINE_SIGNED && (int64_t)v->number < 0)
		buf_printf(w->out, "%" PRId64, (int64_t)v->number);
	else if (v->number > JSON_NUMBER_MAX)
		buf_printf(w->out, "\"0x%" PRIx64 "\"", v->number);
	else
		buf_printf(w->out, "%" PRIu64, v->number);
}

static void json_label(
	struct json_writer *w, const char *name, const char label[MONITOR_LABEL_BYTES])
{
	struct line_value v = {.kind = LINE_UNSIGNED};

	if (!line_label_number(label, &v.number))
		v = (struct line_value){
			LINE_TEXT, .text = label, .length = strnlen(label, MONITOR_LABEL_BYTES)};
	if (v.kind == LINE_UNSIGNED || v.length)
		json_value(w, name, &v);
}

static void json_fields(struct json_writer *w, const struct monitor_event_plan *plan,
	const struct monitor_record *r)
{
	for (size_t i = 0; i < MONITOR_FIELDS && plan->source && plan->source->fields[i].name;
		i++) {
		struct line_value v = line_field(plan, r, i);

		if (v.kind != LINE_NOTHING && !is_fixed(plan->source->fields[i].name))
			json_value(w, plan->source->fields[i].name, &v);
	}
}

/* What an event added to a series. */
static uint64_t value_for(
	const struct monitor *m, const struct monitor_record *r, unsigned int series)
{
	for (size_t n = 0; n < MONITOR_COUNTS; n++) {
		const struct monitor_count *c = &m->events[r->event].counts[n];

		if (has_value(c) && c->series == series && r->count[n] != MONITOR_NO_VALUE)
			return r->count[n];
	}
	return MONITOR_NO_VALUE;
}

static void json_counts(
	struct json_writer *w, const struct monitor *m, const struct monitor_record *r)
{
	for (unsigned int s = 0; m->series[s].name; s++) {
		uint64_t value = value_for(m, r, s);
		struct buf key = BUF_INIT;

		if (value == MONITOR_NO_VALUE)
			continue;
		series_key(&m->series[s], &key);
		json_number(w, buf_text(&key), value);
		w->out->failed |= key.failed;
		buf_release(&key);
	}
}

static void json_line(struct monitor_lines *l, const struct monitor_record *r, struct buf *out)
{
	struct json_writer w = {.out = out};

	json_begin(&w, NULL, '{');
	json_number(&w, "t_ns", r->time_ns);
	json_text(&w, "event", l->monitor->events[r->event].name);
	json_number(&w, "pid", r->pid);
	json_number(&w, "tid", r->tid);
	json_key(&w, "comm");
	json_string(out, r->comm, strnlen(r->comm, sizeof(r->comm)));
	if (r->client)
		json_number(&w, "client", r->client);
	json_label(&w, "ring", r->label[0]);
	json_label(&w, "other", r->label[1]);
	json_fields(&w, l->status[r->event].plan, r);
	json_counts(&w, l->monitor, r);
	json_end(&w, '}');
	buf_putc(out, '\n');
}

/* ------------------------------------------------------------------ CSV */

void csv_text(struct buf *out, const char *text)
{
	bool quoted = strpbrk(text, ",\"") != NULL;
	const char *mark;

	if (quoted)
		buf_putc(out, '"');
	for (; (mark = strchr(text, '"')); text = mark + 1) {
		printable_put(out, text, (size_t)(mark - text));
		buf_puts(out, "\"\"");
	}
	printable_puts(out, text);
	if (quoted)
		buf_putc(out, '"');
}

static void csv_heading(const struct monitor_lines *l, struct buf *out)
{
	const struct monitor *m = l->monitor;

	for (size_t i = 0; i < FIXED_COUNT; i++)
		buf_printf(out, "%s%s", i ? "," : "", fixed[i]);
	for (unsigned int s = 0; m->series[s].name; s++)
		if (totals_has_sums(m, s)) {
			buf_putc(out, ',');
			series_key(&m->series[s], out);
		}
	vec_foreach (f, &l->fields)
		buf_printf(out, ",%s", *f);
	buf_putc(out, '\n');
}

static void csv_value(struct monitor_lines *l, const struct line_value *v, struct buf *out)
{
	if (v->kind == LINE_SIGNED)
		buf_printf(out, "%" PRId64, (int64_t)v->number);
	else if (v->kind == LINE_UNSIGNED)
		buf_printf(out, "%" PRIu64, v->number);
	if (v->kind != LINE_TEXT)
		return;
	buf_reset(&l->line);
	line_text(&l->line, v->text, v->length);
	csv_text(out, buf_text(&l->line));
	out->failed |= l->line.failed;
}

static void csv_label(
	struct monitor_lines *l, const char label[MONITOR_LABEL_BYTES], struct buf *out)
{
	buf_putc(out, ',');
	buf_reset(&l->line);
	line_label(l->monitor, NULL, label, &l->line);
	csv_text(out, buf_text(&l->line));
}

static void csv_counts(const struct monitor *m, const struct monitor_record *r, struct buf *out)
{
	for (unsigned int s = 0; m->series[s].name; s++) {
		uint64_t value = value_for(m, r, s);

		if (!totals_has_sums(m, s))
			continue;
		buf_putc(out, ',');
		if (value != MONITOR_NO_VALUE)
			buf_printf(out, "%" PRIu64, value);
	}
}

static void csv_fields(struct monitor_lines *l, const struct monitor_record *r, struct buf *out)
{
	const struct monitor_event_plan *plan = l->status[r->event].plan;

	vec_foreach (f, &l->fields) {
		buf_putc(out, ',');
		for (size_t i = 0;
			i < MONITOR_FIELDS && plan->source && plan->source->fields[i].name; i++) {
			struct line_value v = line_field(plan, r, i);

			if (!strcmp(plan->source->fields[i].name, *f))
				csv_value(l, &v, out);
		}
	}
}

static void csv_line(struct monitor_lines *l, const struct monitor_record *r, struct buf *out)
{
	struct line_value comm = {
		LINE_TEXT, .text = r->comm, .length = strnlen(r->comm, sizeof(r->comm))};

	buf_printf(out, "%" PRIu64 ",%s,%u,%u,", r->time_ns, l->monitor->events[r->event].name,
		r->pid, r->tid);
	csv_value(l, &comm, out);
	buf_putc(out, ',');
	if (r->client)
		buf_printf(out, "%" PRIu64, r->client);
	csv_label(l, r->label[0], out);
	csv_label(l, r->label[1], out);
	csv_counts(l->monitor, r, out);
	csv_fields(l, r, out);
	buf_putc(out, '\n');
}

/* ------------------------------------------------------------------ all of them */

void monitor_heading(struct monitor_lines *l, struct buf *out)
{
	if (l->form == FORM_TEXT)
		text_heading(l, out);
	else if (l->form == FORM_CSV)
		csv_heading(l, out);
}

void monitor_line(struct monitor_lines *l, const struct monitor_record *r, struct buf *out)
{
	if (r->event >= monitor_event_count(l->monitor) || !l->status[r->event].plan)
		return;
	if (l->form == FORM_JSON)
		json_line(l, r, out);
	else if (l->form == FORM_CSV)
		csv_line(l, r, out);
	else
		text_line(l, r, out);
}
