// SPDX-License-Identifier: MIT
#include "view/timeline/timeline.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "view/names/kernel_name.h"

#define BOX_COLUMNS 2 /* so long it can be seen by itself */

void timeline_release(struct timeline *t)
{
	for (size_t n = 0; n < t->cell_rows; n++)
		free(t->cells[n]);
	free(t->cells);
	vec_release(&t->boxes);
	*t = (struct timeline){0};
}

uint64_t timeline_column_ns(const struct timeline_wanted *w, uint32_t column)
{
	uint64_t length_ns = w->to_ns - w->from_ns;

	if (length_ns < UINT64_MAX / w->columns) /* nearly always, and faster */
		return w->from_ns + length_ns * column / w->columns;
	return w->from_ns + (uint64_t)((unsigned __int128)length_ns * column / w->columns);
}

/* The column that a time in the stretch is in. */
static uint32_t column_of(const struct timeline_wanted *w, uint64_t time_ns)
{
	uint64_t passed_ns = time_ns - w->from_ns, length_ns = w->to_ns - w->from_ns;
	uint32_t n = length_ns < UINT64_MAX / w->columns
			     ? (uint32_t)(passed_ns * w->columns / length_ns)
			     : (uint32_t)((unsigned __int128)passed_ns * w->columns / length_ns);

	/* edges are rounded down */
	while (n + 1 < w->columns && timeline_column_ns(w, n + 1) <= time_ns)
		n++;
	return n;
}

/* ------------------------------------------------------------------ events */

static uint64_t end_of(uint64_t start_ns, uint64_t duration_ns)
{
	return duration_ns < UINT64_MAX - start_ns ? start_ns + duration_ns : UINT64_MAX;
}

struct timeline_item timeline_item_of(const struct profile_event *e)
{
	struct timeline_item i = {0};

	switch (e->kind) {
	case EVENT_SAMPLE:
		i.begin_ns = i.end_ns = e->sample.time_ns;
		i.time_ns = e->sample.period_ns;
		break;
	case EVENT_WAIT:
		i.begin_ns = e->wait.start_ns;
		i.end_ns = end_of(i.begin_ns, e->wait.duration_ns);
		i.what.id = e->wait.reason;
		break;
	case EVENT_CALL:
		i.begin_ns = e->call.start_ns;
		i.end_ns = end_of(i.begin_ns, e->call.duration_ns);
		i.what.id = e->call.api;
		break;
	case EVENT_WORK:
		i.begin_ns = e->work.start_ns;
		i.end_ns = end_of(i.begin_ns, e->work.duration_ns);
		i.what.id = e->work.op;
		break;
	case EVENT_COUNT:
		i.begin_ns = e->count.start_ns;
		i.end_ns = end_of(i.begin_ns, e->count.duration_ns);
		i.value = e->count.value;
		break;
	case EVENT_DRIVER:
		i.begin_ns = e->driver.start_ns;
		i.end_ns = end_of(i.begin_ns, e->driver.duration_ns);
		i.what.id = e->driver.name;
		break;
	case EVENT_MARKER:
		i.begin_ns = e->marker.start_ns;
		i.end_ns = end_of(i.begin_ns, e->marker.duration_ns);
		i.what = (struct timeline_what){e->marker.name, e->marker.domain};
		break;
	default:
		break;
	}
	return i;
}

/* ------------------------------------------------------------------ cells and boxes */

static int make_room(struct timeline *t, size_t row)
{
	size_t count = t->cell_rows;
	struct timeline_cell **grown;

	if (row < count)
		return 0;
	grown = realloc(t->cells, (row + 1) * sizeof(*grown));
	if (!grown)
		return error_memory("the time axis");
	t->cells = grown;
	for (; count <= row; count++)
		t->cells[count] = NULL;
	t->cell_rows = count;
	return 0;
}

/* The cells of a row, made when they are needed; NULL with error_text. */
static struct timeline_cell *cells_of(struct timeline *t, size_t row)
{
	if (make_room(t, row))
		return NULL;
	if (!t->cells[row])
		t->cells[row] = calloc(t->wanted->columns, sizeof(**t->cells));
	if (!t->cells[row])
		error_memory("the time axis");
	return t->cells[row];
}

static bool is_same(struct timeline_what a, struct timeline_what b)
{
	return a.id == b.id && a.domain == b.domain;
}

void timeline_more_add(enum timeline_kind kind, union timeline_more *to, uint64_t to_count,
	const union timeline_more *more, uint64_t count)
{
	if (kind == TIMELINE_COUNTER)
		to->value += more->value;
	else if (count && !to_count)
		to->what = more->what;
	else if (count && !is_same(to->what, more->what))
		to->what = (struct timeline_what){0};
}

static void spread(struct timeline_cell *cells, const struct timeline_wanted *w,
	const struct timeline_item *i, enum timeline_kind kind, uint64_t begin_ns, uint64_t end_ns)
{
	uint32_t n = column_of(w, begin_ns);

	for (uint64_t at_ns = begin_ns; at_ns < end_ns; n++) {
		uint64_t edge_ns = timeline_column_ns(w, n + 1);
		uint64_t next_ns = edge_ns < end_ns ? edge_ns : end_ns;

		cells[n].time_ns += next_ns - at_ns;
		if (kind == TIMELINE_COUNTER)
			cells[n].more.value += i->value * (double)(next_ns - at_ns);
		at_ns = next_ns;
	}
}

static bool is_box(const struct timeline *t, const struct timeline_item *i, enum timeline_kind kind)
{
	const struct timeline_wanted *w = t->wanted;

	return w->rows && kind != TIMELINE_RUN && kind != TIMELINE_COUNTER &&
	       t->boxes.count < w->boxes_max &&
	       (unsigned __int128)(i->end_ns - i->begin_ns) * w->columns >=
		       (unsigned __int128)(w->to_ns - w->from_ns) * BOX_COLUMNS;
}

static int add_box(struct timeline *t, uint32_t row, const struct timeline_item *i)
{
	const struct timeline_box box = {row, i->what, i->begin_ns, i->end_ns};

	return vec_push(&t->boxes, box) ? error_memory("the time axis") : 0;
}

/* That a piece of it begins there. */
static void begin(
	struct timeline_cell *cell, enum timeline_kind kind, const struct timeline_item *i)
{
	const union timeline_more more = {.what = i->what};

	if (kind != TIMELINE_COUNTER)
		timeline_more_add(kind, &cell->more, cell->count, &more, 1);
	cell->count++;
	cell->time_ns += i->time_ns;
}

/* `row` of the recording, in the cells of a row or a kind. */
static int add_to_cells(struct timeline *t, uint32_t row, const struct timeline_item *i)
{
	const struct timeline_wanted *w = t->wanted;
	enum timeline_kind kind = t->rows->items.items[row].kind;
	uint64_t begin_ns = i->begin_ns > w->from_ns ? i->begin_ns : w->from_ns,
		 end_ns = i->end_ns < w->to_ns ? i->end_ns : w->to_ns;
	struct timeline_cell *cells = cells_of(t, w->rows ? row : kind);

	if (!cells)
		return -ENOMEM;
	if (i->begin_ns >= w->from_ns && i->begin_ns < w->to_ns)
		begin(&cells[column_of(w, i->begin_ns)], kind, i);
	spread(cells, w, i, kind, begin_ns, end_ns);
	return 0;
}

/* What is wanted of it, and only that. */
int timeline_put(struct timeline *t, uint32_t row, const struct timeline_item *i)
{
	const struct timeline_wanted *w = t->wanted;
	enum timeline_kind kind = t->rows->items.items[row].kind;
	uint64_t begin_ns = i->begin_ns > w->from_ns ? i->begin_ns : w->from_ns,
		 end_ns = i->end_ns < w->to_ns ? i->end_ns : w->to_ns;
	bool begins = i->begin_ns >= w->from_ns && i->begin_ns < w->to_ns;

	if (!w->columns || (w->rows && (row >= w->row_count || !w->rows[row])) ||
		(!begins && begin_ns >= end_ns))
		return 0;
	if (is_box(t, i, kind))
		return add_box(t, row, i);
	return add_to_cells(t, row, i);
}

int timeline_fold(struct timeline *t,
	bool (*keeps)(const void *arg, const struct timeline_box *box), const void *arg)
{
	size_t kept = 0;
	int error = 0;

	vec_foreach (box, &t->boxes) {
		const struct timeline_item i = {box->begin_ns, box->end_ns, 0, box->what, 0};

		if (error || keeps(arg, box))
			t->boxes.items[kept++] = *box;
		else
			error = add_to_cells(t, box->row, &i);
	}
	t->boxes.count = kept;
	return error;
}

int timeline_put_cell(
	struct timeline *t, uint32_t row, uint64_t begin_ns, const struct timeline_cell *c)
{
	const struct timeline_wanted *w = t->wanted;
	enum timeline_kind kind = t->rows->items.items[row].kind;
	struct timeline_cell *cells, *to;

	if (begin_ns < w->from_ns || begin_ns >= w->to_ns ||
		(w->rows && (row >= w->row_count || !w->rows[row])))
		return 0;
	cells = cells_of(t, w->rows ? row : kind);
	if (!cells)
		return -ENOMEM;
	to = &cells[column_of(w, begin_ns)];
	timeline_more_add(kind, &to->more, to->count, &c->more, c->count);
	to->time_ns += c->time_ns;
	to->count += c->count;
	return 0;
}

static int add_event(struct timeline *t, struct profile_reader *r, const struct profile_event *e)
{
	struct timeline_item item;
	uint32_t row;
	int on = timeline_rows_of(t->rows, r, e, &row);

	if (on <= 0)
		return on;
	item = timeline_item_of(e);
	return timeline_put(t, row, &item);
}

int timeline_read(struct timeline *t, struct timeline_rows *rows, struct profile_reader *r,
	const struct timeline_wanted *w)
{
	struct profile_event e;
	int more, error = 0;

	*t = (struct timeline){.wanted = w, .rows = rows};
	while (!error && (more = profile_reader_next(r, &e)))
		error = more < 0 ? more : add_event(t, r, &e);
	if (error)
		timeline_release(t);
	return error;
}

/* ------------------------------------------------------------------ names */

static void name_op(const struct profile_reader *r, uint32_t id, struct buf *b)
{
	const struct profile_op *op = profile_op(r, id);

	if (!op)
		buf_puts(b, "[damaged]");
	else if (op->kind == OP_COPY)
		buf_printf(b, "copy %s", profile_copy_name(op->copy_kind));
	else if (op->kind == OP_SET)
		buf_puts(b, "memset");
	else
		kernel_readable(r, op->name, b);
}

void timeline_name(const struct profile_reader *r, enum timeline_kind kind,
	struct timeline_what what, struct buf *b)
{
	if (kind == TIMELINE_WORK)
		name_op(r, what.id, b);
	else if (kind == TIMELINE_WAITS)
		buf_puts(b, profile_wait_reason_name(what.id));
	else
		buf_puts(b, profile_string(r, what.id, NULL));
	if (kind == TIMELINE_MARKERS && what.domain)
		buf_printf(b, " (%s)", profile_string(r, what.domain, NULL));
}
