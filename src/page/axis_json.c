// SPDX-License-Identifier: MIT
#include "page/axis_json.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/error.h"
#include "base/json_writer.h"
#include "base/map.h"
#include "view/names/device.h"

static int short_memory(void)
{
	return error_memory("the page");
}

/* ------------------------------------------------------------------ rows */

/* "python3 (4711)" */
static void write_process(
	struct json_writer *w, const struct profile_reader *r, const struct timeline_row *row)
{
	const struct profile_process *p = profile_process(r, row->process);
	struct buf text = BUF_INIT;

	if (p) {
		buf_puts(&text, profile_string(r, p->comm, NULL));
		buf_printf(&text, " (%u)", p->pid);
	}
	json_text(w, "process", p ? buf_text(&text) : NULL);
	buf_release_for(&text, w->out);
}

static void write_thread(
	struct json_writer *w, const struct profile_reader *r, const struct timeline_row *row)
{
	const struct profile_thread *t = profile_thread(r, row->thread);
	struct buf text = BUF_INIT;

	if (t) {
		buf_puts(&text, profile_thread_name(r, t, NULL));
		buf_printf(&text, " (%u)", t->tid);
		json_number(w, "tid", t->tid);
	}
	json_text(w, "thread", t ? buf_text(&text) : NULL);
	json_bool(w, "profiler", t && profile_is_profiler(r, row->thread));
	buf_release_for(&text, w->out);
}

static void write_device(struct json_writer *w, const struct profile_reader *r,
	const struct device_numbers *numbers, const struct timeline_row *row)
{
	const struct profile_device *d = profile_device(r, row->device);
	struct buf text = BUF_INIT;

	if (d) {
		uint32_t number = device_number(numbers, r, row->device);

		buf_printf(&text, "GPU %u: ", number);
		buf_puts(&text, profile_string(r, d->name, NULL));
		json_number(w, "gpu", number);
	}
	json_text(w, "device", d ? buf_text(&text) : NULL);
	buf_release_for(&text, w->out);
}

int axis_json_rows(
	struct json_writer *w, const struct timeline_rows *rows, const struct profile_reader *r)
{
	struct device_numbers numbers;
	struct buf name = BUF_INIT;
	int error = device_numbers_init(&numbers, r);

	if (error)
		return error;
	json_begin(w, "rows", '[');
	vec_foreach (row, &rows->items) {
		json_begin(w, NULL, '{');
		json_text(w, "kind", timeline_kind_name(row->kind));
		buf_reset(&name);
		timeline_row_name(r, row, &name);
		json_text(w, "name", buf_text(&name));
		write_process(w, r, row);
		write_thread(w, r, row);
		write_device(w, r, &numbers, row);
		json_number(w, "count", row->count);
		json_number(w, "time_ns", row->time_ns);
		json_end(w, '}');
	}
	json_end(w, ']');
	buf_release_for(&name, w->out);
	return 0;
}

/* ------------------------------------------------------------------ boxes */

/* Each name once. */
struct names {
	struct map index; /* kind << 32 | what -> index */
	struct vec(struct timeline_box) firsts;
};

static int index_of(
	struct names *n, const struct timeline *t, const struct timeline_box *box, uint64_t *ret)
{
	uint64_t key = (uint64_t)t->rows->items.items[box->row].kind << 32 | box->what;
	const uint64_t *known = map_get(&n->index, key);

	*ret = known ? *known : n->firsts.count;
	if (known)
		return 0;
	return map_put(&n->index, key, *ret) || vec_push(&n->firsts, *box) ? short_memory() : 0;
}

static int write_boxes(
	struct json_writer *w, const struct timeline *t, struct names *names, uint64_t start_ns)
{
	int error = 0;

	json_begin(w, "boxes", '[');
	vec_foreach (box, &t->boxes) {
		uint64_t index = 0;

		error = error ?: index_of(names, t, box, &index);
		json_key(w, NULL);
		buf_printf(w->out, "%u,%" PRId64 ",%" PRIu64 ",%" PRIu64, box->row,
			(int64_t)(box->begin_ns - start_ns), box->end_ns - box->begin_ns, index);
	}
	json_end(w, ']');
	return error;
}

static void write_names(struct json_writer *w, const struct timeline *t, const struct names *names,
	const struct profile_reader *r)
{
	struct buf name = BUF_INIT;

	json_begin(w, "names", '[');
	vec_foreach (box, &names->firsts) {
		buf_reset(&name);
		timeline_box_name(r, &t->rows->items.items[box->row], box->what, &name);
		json_text(w, NULL, buf_text(&name));
	}
	json_end(w, ']');
	buf_release_for(&name, w->out);
}

/* ------------------------------------------------------------------ cells */

static void write_cell(
	struct json_writer *w, uint32_t column, const struct timeline_cell *c, bool is_mean)
{
	json_key(w, NULL);
	buf_printf(w->out, "%u,", column);
	if (is_mean)
		buf_printf(w->out, "%.6g", c->time_ns ? c->value / (double)c->time_ns : 0);
	else
		buf_printf(w->out, "%" PRIu64, c->time_ns);
	buf_printf(w->out, ",%" PRIu64, c->count);
}

static void write_cells(struct json_writer *w, const struct timeline *t)
{
	json_begin(w, "cells", '{');
	for (size_t row = 0; row < t->cell_rows; row++) {
		enum timeline_kind kind =
			t->wanted->rows ? t->rows->items.items[row].kind : (enum timeline_kind)row;
		const struct timeline_cell *cells = t->cells[row];
		char number[24];

		if (!cells)
			continue;
		snprintf(number, sizeof(number), "%zu", row);
		json_begin(w, t->wanted->rows ? number : timeline_kind_name(kind), '[');
		for (uint32_t n = 0; n < t->wanted->columns; n++)
			if (cells[n].time_ns || cells[n].count)
				write_cell(w, n, &cells[n], kind == TIMELINE_COUNTER);
		json_end(w, ']');
	}
	json_end(w, '}');
}

int axis_json_contents(struct json_writer *w, const struct timeline *t,
	const struct profile_reader *r, uint64_t start_ns)
{
	struct names names = {0};
	int error = write_boxes(w, t, &names, start_ns);

	if (!error)
		write_names(w, t, &names, r);
	write_cells(w, t);
	map_release(&names.index);
	vec_release(&names.firsts);
	return error;
}
