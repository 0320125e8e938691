// SPDX-License-Identifier: MIT
/* Cells of a row are in the order in which they were begun, which is nearly that of time: a column
 * may have several, which are added up when they are shown. */
#include "view/timeline/kept.h"

#include <errno.h>

#include "base/error.h"
#include "base/nice.h"

#define SUBJECT	  "the time axis"
#define COLUMNS	  65536
#define CELLS_MAX ((size_t)2 << 20) /* of 24 bytes; long items as well */
#define LONG	  2		    /* columns */

struct timeline_kept_cell {
	uint32_t column, count;
	uint64_t time_ns;
	union timeline_more more;
};

struct timeline_kept_item {
	uint32_t row;
	struct timeline_item is;
};

struct timeline_row_cells {
	struct vec(struct timeline_kept_cell) items;
};

static int short_memory(void)
{
	return error_memory(SUBJECT);
}

void timeline_kept_init(struct timeline_kept *k, uint64_t start_ns, uint64_t end_ns)
{
	uint64_t length = end_ns > start_ns ? end_ns - start_ns : 1;

	*k = (struct timeline_kept){
		.start_ns = start_ns,
		.width_ns = nice_above(length / COLUMNS + 1),
		.first_ns = UINT64_MAX,
	};
}

void timeline_kept_release(struct timeline_kept *k)
{
	vec_foreach (row, &k->cells)
		vec_release(&row->items);
	vec_release(&k->cells);
	vec_release(&k->items);
	vec_foreach (nesting, &k->nestings)
		nesting_release(nesting);
	vec_release(&k->nestings);
	timeline_rows_release(&k->rows);
	*k = (struct timeline_kept){0};
}

/* ------------------------------------------------------------------ cells */

static struct timeline_row_cells *cells_of(struct timeline_kept *k, uint32_t row)
{
	while (k->cells.count <= row)
		if (vec_push(&k->cells, (struct timeline_row_cells){0}))
			return NULL;
	return &k->cells.items[row];
}

static enum timeline_kind kind_of(const struct timeline_kept *k, uint32_t row)
{
	return k->rows.items.items[row].kind;
}

static void add_up(enum timeline_kind kind, struct timeline_kept_cell *to,
	const struct timeline_kept_cell *cell)
{
	timeline_more_add(kind, &to->more, to->count, &cell->more, cell->count);
	to->count += cell->count;
	to->time_ns += cell->time_ns;
}

static int add_cell(struct timeline_kept *k, uint32_t row, struct timeline_kept_cell cell)
{
	struct timeline_row_cells *cells = cells_of(k, row);
	struct timeline_kept_cell *last =
		cells && cells->items.count ? &cells->items.items[cells->items.count - 1] : NULL;

	if (last && last->column == cell.column) {
		add_up(kind_of(k, row), last, &cell);
		return 0;
	}
	k->cell_count++;
	return !cells || vec_push(&cells->items, cell) ? short_memory() : 0;
}

/* What is before the start is in no column that is kept: it is read from the file. */
static uint32_t column_at(const struct timeline_kept *k, uint64_t time_ns)
{
	uint64_t n = time_ns < k->start_ns ? 0 : (time_ns - k->start_ns) / k->width_ns;

	return n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

static uint64_t begin_of(const struct timeline_kept *k, uint32_t column)
{
	uint64_t passed_ns;

	return __builtin_mul_overflow(k->width_ns, (uint64_t)column, &passed_ns) ||
			       passed_ns > UINT64_MAX - k->start_ns
		       ? UINT64_MAX
		       : k->start_ns + passed_ns;
}

/* Among the few columns that it touches. */
static int spread(struct timeline_kept *k, uint32_t row, const struct timeline_item *i)
{
	uint64_t at_ns = i->begin_ns > k->start_ns ? i->begin_ns : k->start_ns;
	struct timeline_kept_cell first = {
		.column = column_at(k, at_ns), .count = 1, .time_ns = i->time_ns};
	bool counts = kind_of(k, row) == TIMELINE_COUNTER;
	uint32_t column = first.column;
	int error = 0;

	if (!counts)
		first.more.what = i->what;
	if (i->begin_ns >= k->start_ns)
		error = add_cell(k, row, first);
	for (; !error && at_ns < i->end_ns; column++) {
		uint64_t edge_ns = begin_of(k, column + 1);
		uint64_t next_ns = edge_ns < i->end_ns ? edge_ns : i->end_ns;

		struct timeline_kept_cell cell = {.column = column, .time_ns = next_ns - at_ns};

		if (counts)
			cell.more.value = i->value * (double)(next_ns - at_ns);
		error = add_cell(k, row, cell);
		at_ns = next_ns;
	}
	return error;
}

static bool is_long(const struct timeline_kept *k, const struct timeline_item *i)
{
	return (i->end_ns - i->begin_ns) / LONG >= k->width_ns;
}

static int put(struct timeline_kept *k, uint32_t row, const struct timeline_item *i)
{
	if (!is_long(k, i))
		return spread(k, row, i);
	return vec_push(&k->items, (struct timeline_kept_item){row, *i}) ? short_memory() : 0;
}

/* ------------------------------------------------------------------ longer columns */

static void join_cells(enum timeline_kind kind, struct timeline_row_cells *row, uint32_t factor)
{
	size_t kept = 0;

	for (size_t n = 0; n < row->items.count; n++) {
		struct timeline_kept_cell cell = row->items.items[n];
		struct timeline_kept_cell *last = kept ? &row->items.items[kept - 1] : NULL;

		cell.column /= factor;
		if (last && last->column == cell.column)
			add_up(kind, last, &cell);
		else
			row->items.items[kept++] = cell;
	}
	row->items.count = kept;
}

static int join(struct timeline_kept *k)
{
	struct vec(struct timeline_kept_item)
		items = {k->items.items, k->items.count, k->items.capacity};
	uint32_t factor = (uint32_t)nice_factor(k->width_ns);
	int error = 0;

	k->width_ns *= factor;
	k->cell_count = 0;
	k->items.items = NULL;
	k->items.count = k->items.capacity = 0;
	for (uint32_t row = 0; row < k->cells.count; row++) {
		join_cells(kind_of(k, row), &k->cells.items[row], factor);
		k->cell_count += k->cells.items[row].items.count;
	}
	vec_foreach (item, &items)
		error = error ?: put(k, item->row, &item->is);
	vec_release(&items);
	return error;
}

static void see(struct timeline_kept *k, uint32_t row, const struct timeline_item *i)
{
	struct timeline_row *r = &k->rows.items.items[row];

	r->count++;
	r->time_ns += i->time_ns + (i->end_ns - i->begin_ns);
	k->first_ns = i->begin_ns < k->first_ns ? i->begin_ns : k->first_ns;
	k->last_ns = i->end_ns > k->last_ns ? i->end_ns : k->last_ns;
}

/* Of a row of markers: how deep it is by now. */
static int note_depth(struct timeline_kept *k, uint32_t row, const struct timeline_item *i)
{
	while (k->nestings.count <= row)
		if (vec_push(&k->nestings, (struct nesting){0}))
			return short_memory();
	return nesting_add(&k->nestings.items[row], i->begin_ns, &k->rows.items.items[row].depth);
}

int timeline_kept_add(
	struct timeline_kept *k, const struct profile_reader *r, const struct profile_event *e)
{
	struct timeline_item item;
	uint32_t row;
	int on = timeline_rows_of(&k->rows, r, e, &row), error;

	if (on <= 0)
		return on;
	item = timeline_item_of(e);
	see(k, row, &item);
	error = kind_of(k, row) == TIMELINE_MARKERS ? note_depth(k, row, &item) : 0;
	error = error ?: put(k, row, &item);
	while (!error && k->cell_count + k->items.count > CELLS_MAX && k->width_ns < NICE_MAX / 10)
		error = join(k);
	return error;
}

/* ------------------------------------------------------------------ an axis */

bool timeline_kept_fits(const struct timeline_kept *k, const struct timeline_wanted *w)
{
	uint64_t length_ns = w->to_ns - w->from_ns;

	return w->columns && w->from_ns >= k->start_ns &&
	       (w->from_ns - k->start_ns) % k->width_ns == 0 && length_ns % w->columns == 0 &&
	       length_ns / w->columns % k->width_ns == 0;
}

static int read_row(struct timeline *t, const struct timeline_kept *k, uint32_t row)
{
	int error = 0;

	vec_foreach (cell, &k->cells.items[row].items) {
		const struct timeline_cell c = {cell->time_ns, cell->count, cell->more};

		error = timeline_put_cell(t, row, begin_of(k, cell->column), &c);
		if (error)
			break;
	}
	return error;
}

int timeline_kept_read(struct timeline *t, struct timeline_kept *k, const struct timeline_wanted *w)
{
	int error = 0;

	*t = (struct timeline){.wanted = w, .rows = &k->rows};
	for (uint32_t row = 0; !error && row < k->cells.count; row++)
		error = read_row(t, k, row);
	vec_foreach (item, &k->items)
		error = error ?: timeline_put(t, item->row, &item->is);
	if (error)
		timeline_release(t);
	return error;
}
