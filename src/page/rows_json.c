// SPDX-License-Identifier: MIT
#include "page/rows_json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "page/arguments.h"
#include "view/names/device.h"
#include "view/timeline/lanes.h"

/* What rows are named with. */
struct names {
	const struct profile_reader *reader;
	struct device_numbers numbers;
	struct buf text; /* room for one */
};

/* ------------------------------------------------------------------ names */

/* "python3 (4711)"; NULL: none. Each until the next one. */
static const char *process_text(struct names *n, const struct timeline_row *row)
{
	const struct profile_process *p = profile_process(n->reader, row->process);

	if (!p)
		return NULL;
	buf_reset(&n->text);
	buf_puts(&n->text, profile_string(n->reader, p->comm, NULL));
	buf_printf(&n->text, " (%u)", p->pid);
	return buf_text(&n->text);
}

static const char *thread_text(struct names *n, const struct timeline_row *row)
{
	const struct profile_thread *t = profile_thread(n->reader, row->thread);

	if (!t)
		return NULL;
	buf_reset(&n->text);
	buf_puts(&n->text, profile_thread_name(n->reader, t, NULL));
	buf_printf(&n->text, " (%u)", t->tid);
	return buf_text(&n->text);
}

static const char *device_text(struct names *n, const struct timeline_row *row)
{
	const struct profile_device *d = profile_device(n->reader, row->device);

	if (!d)
		return NULL;
	buf_reset(&n->text);
	buf_printf(&n->text, "GPU %u: ", device_number(&n->numbers, n->reader, row->device));
	buf_puts(&n->text, profile_string(n->reader, d->name, NULL));
	return buf_text(&n->text);
}

static const char *row_text(struct names *n, const struct timeline_row *row)
{
	buf_reset(&n->text);
	timeline_row_name(n->reader, row, &n->text);
	return buf_text(&n->text);
}

/* ------------------------------------------------------------------ rows */

/* What only rows of its kind have. */
static void write_own(
	struct json_writer *w, const struct profile_reader *r, const struct timeline_row *row)
{
	const struct profile_counter *c = profile_counter(r, row->counter);
	const struct profile_thread *t = profile_thread(r, row->thread);

	if (row->kind == TIMELINE_COUNTER && c && c->unit)
		json_text(w, "unit", profile_string(r, c->unit, NULL));
	if (row->kind == TIMELINE_MARKERS)
		json_number(w, "depth", row->depth);
	if (t) {
		json_number(w, "tid", t->tid);
		json_number(w, "id", row->thread);
	}
	json_bool(w, "profiler", t && profile_is_profiler(r, row->thread));
}

static void write_row(
	struct json_writer *w, struct names *n, const struct timeline_row *row, size_t number)
{
	json_begin(w, NULL, '{');
	json_number(w, "number", number);
	json_text(w, "kind", timeline_kind_name(row->kind));
	json_text(w, "name", row_text(n, row));
	json_text(w, "process", process_text(n, row));
	json_text(w, "thread", thread_text(n, row));
	json_text(w, "device", device_text(n, row));
	if (profile_device(n->reader, row->device))
		json_number(w, "gpu", device_number(&n->numbers, n->reader, row->device));
	write_own(w, n->reader, row);
	json_number(w, "count", row->count);
	json_number(w, "time_ns", row->time_ns);
	json_end(w, '}');
}

static int write_lanes(struct json_writer *w, struct names *n, const struct timeline_rows *rows,
	const struct lanes_wanted *wanted)
{
	struct lanes lanes;
	int error = lanes_choose(&lanes, rows, wanted);

	if (error)
		return error;
	json_begin(w, "rows", '[');
	for (size_t row = 0; row < rows->items.count; row++)
		if (lanes.rows[row])
			write_row(w, n, &rows->items.items[row], row);
	json_end(w, ']');
	json_begin(w, "lanes", '{');
	for (enum lane_class c = 0; c < LANE_CLASSES; c++)
		json_number(w, lane_class_name(c), lanes.count[c]);
	json_end(w, '}');
	lanes_release(&lanes);
	return 0;
}

/* Whether or not they are listed. */
static void write_all(struct json_writer *w, const struct timeline_rows *rows)
{
	struct {
		uint64_t rows, count, time_ns;
	} sums[TIMELINE_KINDS] = {0};

	vec_foreach (row, &rows->items) {
		sums[row->kind].rows++;
		sums[row->kind].count += row->count;
		sums[row->kind].time_ns += row->time_ns;
	}
	json_begin(w, "all", '{');
	for (enum timeline_kind kind = 0; kind < TIMELINE_KINDS; kind++) {
		json_begin(w, timeline_kind_name(kind), '{');
		json_number(w, "rows", sums[kind].rows);
		json_number(w, "count", sums[kind].count);
		json_number(w, "time_ns", sums[kind].time_ns);
		json_end(w, '}');
	}
	json_end(w, '}');
}

int rows_json_about(struct json_writer *w, const struct recording_reading *g, size_t most)
{
	const struct lanes_wanted wanted = {.of = {true, true, true, true}, .most = most};
	struct names n = {.reader = g->reader};
	int error = device_numbers_init(&n.numbers, g->reader);

	error = error ?: write_lanes(w, &n, &g->axis.rows, &wanted);
	write_all(w, &g->axis.rows);
	buf_release_for(&n.text, w->out);
	return error;
}

/* ------------------------------------------------------------------ what is asked for */

static bool has(const char *name, const char *text)
{
	return name && strcasestr(name, text);
}

static bool is_named(struct names *n, const struct timeline_row *row, const char *text)
{
	return has(thread_text(n, row), text) || has(process_text(n, row), text) ||
	       has(device_text(n, row), text) || (!row->thread && has(row_text(n, row), text));
}

static int find_named(
	struct names *n, const struct timeline_rows *rows, const char *text, bool **ret)
{
	bool *found = calloc(rows->items.count + 1, sizeof(*found));

	if (!found)
		return error_memory("the page");
	for (size_t row = 0; row < rows->items.count; row++)
		found[row] = is_named(n, &rows->items.items[row], text);
	*ret = found;
	return 0;
}

/* One class, or all where none is named. */
static int take_class(const struct http_request *q, struct lanes_wanted *wanted)
{
	const char *of = http_argument(q, "of");
	bool known = !of;

	for (enum lane_class c = 0; c < LANE_CLASSES; c++) {
		wanted->of[c] = !of || !strcmp(of, lane_class_name(c));
		known = known || wanted->of[c];
	}
	return known ? 0 : error_set(-EINVAL, "there are no rows of '%s'", of);
}

/* `ret_rows` is to be freed. */
static int take_wanted(struct names *n, const struct timeline_rows *rows,
	const struct http_request *q, struct lanes_wanted *wanted, bool **ret_rows)
{
	const char *text = http_argument(q, "text");
	uint64_t skip;
	int error = argument_number(q, "skip", UINT32_MAX, 0, &skip);

	error = error ?: take_class(q, wanted);
	error = error ?: argument_list(q, "rows", rows->items.count, ret_rows);
	if (!error && !*ret_rows && text && *text)
		error = find_named(n, rows, text, ret_rows);
	wanted->rows = *ret_rows;
	wanted->skip = skip;
	wanted->most = ROWS_JSON_LANES;
	return error;
}

int rows_json(struct recording *r, const struct http_request *q, struct buf *out)
{
	const struct recording_reading *g = recording_now(r);
	struct names n = {.reader = g->reader};
	struct json_writer w = {.out = out};
	struct lanes_wanted wanted = {0};
	bool *rows = NULL;
	int error = device_numbers_init(&n.numbers, g->reader);

	error = error ?: take_wanted(&n, &g->axis.rows, q, &wanted, &rows);
	if (!error) {
		json_begin(&w, NULL, '{');
		error = write_lanes(&w, &n, &g->axis.rows, &wanted);
		json_end(&w, '}');
	}
	free(rows);
	buf_release_for(&n.text, out);
	return error;
}
