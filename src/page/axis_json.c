// SPDX-License-Identifier: MIT
#include "page/axis_json.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/error.h"
#include "base/json_writer.h"
#include "base/map.h"
#include "page/ages.h"

static int short_memory(void)
{
	return error_memory("the page");
}

/* ------------------------------------------------------------------ names */

void axis_names_release(struct axis_names *n)
{
	map_release(&n->of_kind);
	map_release(&n->of_marker);
	vec_release(&n->items);
}

int axis_names_index(
	struct axis_names *n, enum timeline_kind kind, struct timeline_what what, uint64_t *ret)
{
	bool is_marker = kind == TIMELINE_MARKERS;
	struct map *of = is_marker ? &n->of_marker : &n->of_kind;
	uint64_t key = (uint64_t)(is_marker ? what.domain : kind) << 32 | what.id;
	const struct axis_name name = {kind, what};
	const uint64_t *known = map_get(of, key);

	*ret = known ? *known : n->items.count;
	if (known)
		return 0;
	return map_put(of, key, *ret) || vec_push(&n->items, name) ? short_memory() : 0;
}

void axis_names_json(
	struct json_writer *w, const struct axis_names *names, const struct profile_reader *r)
{
	struct buf text = BUF_INIT;

	json_begin(w, "names", '[');
	vec_foreach (name, &names->items) {
		buf_reset(&text);
		timeline_name(r, name->kind, name->what, &text);
		json_text(w, NULL, buf_text(&text));
	}
	json_end(w, ']');
	buf_release_for(&text, w->out);
}

/* ------------------------------------------------------------------ boxes */

static int write_boxes(struct json_writer *w, const struct timeline *t, struct axis_names *names,
	uint64_t start_ns)
{
	int error = 0;

	json_begin(w, "boxes", '[');
	vec_foreach (box, &t->boxes) {
		uint64_t index = 0;

		error = error
				?: axis_names_index(names, t->rows->items.items[box->row].kind,
					   box->what, &index);
		json_key(w, NULL);
		buf_printf(w->out, "%u,%" PRId64 ",%" PRIu64 ",%" PRIu64, box->row,
			(int64_t)(box->begin_ns - start_ns), box->end_ns - box->begin_ns, index);
	}
	json_end(w, ']');
	return error;
}

/* ------------------------------------------------------------------ cells */

static void write_cell(
	struct json_writer *w, uint32_t column, const struct timeline_cell *c, bool is_mean)
{
	json_number(w, NULL, column);
	if (is_mean) {
		json_key(w, NULL);
		buf_printf(w->out, "%.6g", c->time_ns ? c->more.value / (double)c->time_ns : 0);
	} else {
		json_number(w, NULL, c->time_ns);
	}
	json_number(w, NULL, c->count);
}

/* Returns the first column behind those that stand together with this one. */
static uint32_t add_up(enum timeline_kind kind, const struct timeline_cell *cells, uint32_t n,
	const struct ages *ages, struct timeline_cell *ret)
{
	uint32_t end = n + (ages ? ages_steps(ages, n) : 1);

	*ret = (struct timeline_cell){0};
	for (; n < end; n++) {
		timeline_more_add(kind, &ret->more, ret->count, &cells[n].more, cells[n].count);
		ret->time_ns += cells[n].time_ns;
		ret->count += cells[n].count;
	}
	return end;
}

static void write_cells(
	struct json_writer *w, const char *name, const struct timeline *t, const struct ages *ages)
{
	json_begin(w, name, '{');
	for (size_t row = 0; row < t->cell_rows; row++) {
		enum timeline_kind kind =
			t->wanted->rows ? t->rows->items.items[row].kind : (enum timeline_kind)row;
		const struct timeline_cell *cells = t->cells[row];
		struct timeline_cell cell;
		char number[24];

		if (!cells)
			continue;
		snprintf(number, sizeof(number), "%zu", row);
		json_begin(w, t->wanted->rows ? number : timeline_kind_name(kind), '[');
		for (uint32_t n = 0, next; n < t->wanted->columns; n = next) {
			next = add_up(kind, cells, n, ages, &cell);
			if (cell.time_ns || cell.count)
				write_cell(w, n, &cell, kind == TIMELINE_COUNTER);
		}
		json_end(w, ']');
	}
	json_end(w, '}');
}

/* What markers are that are too short for boxes, where all in a cell are the same. */
static int write_alike(struct json_writer *w, const struct timeline *t, const struct ages *ages,
	struct axis_names *names, size_t row)
{
	struct timeline_cell cell;
	uint64_t index = 0;
	char number[24];
	int error = 0;

	snprintf(number, sizeof(number), "%zu", row);
	json_begin(w, number, '[');
	for (uint32_t n = 0, next; !error && n < t->wanted->columns; n = next) {
		next = add_up(TIMELINE_MARKERS, t->cells[row], n, ages, &cell);
		if (!cell.count || !cell.more.what.id)
			continue;
		error = axis_names_index(names, TIMELINE_MARKERS, cell.more.what, &index);
		json_key(w, NULL);
		buf_printf(w->out, "%u,%" PRIu64, n, index);
	}
	json_end(w, ']');
	return error;
}

static int write_all_alike(struct json_writer *w, const struct timeline *t, const struct ages *ages,
	struct axis_names *names)
{
	int error = 0;

	json_begin(w, "alike", '{');
	for (size_t row = 0; !error && t->wanted->rows && row < t->cell_rows; row++)
		if (t->cells[row] && t->rows->items.items[row].kind == TIMELINE_MARKERS)
			error = write_alike(w, t, ages, names, row);
	json_end(w, '}');
	return error;
}

int axis_json_contents(struct json_writer *w, const struct timeline *t,
	const struct profile_reader *r, uint64_t start_ns, const struct ages *ages)
{
	struct axis_names names = {0};
	int error = write_boxes(w, t, &names, start_ns);

	error = error ?: write_all_alike(w, t, ages, &names);
	if (!error)
		axis_names_json(w, &names, r);
	write_cells(w, "cells", t, ages);
	axis_names_release(&names);
	return error;
}

void axis_json_kinds(struct json_writer *w, const struct timeline *t, const struct ages *ages)
{
	write_cells(w, "kinds", t, ages);
}
