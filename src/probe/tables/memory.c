// SPDX-License-Identifier: MIT
/* Tables of accesses to memory: by place in the code, by page and time. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "probe/coalescing.h"
#include "probe/tables/table.h"

#define PAGE_BITS    16
#define TIME_COLUMNS 48

/* How a place is called: "vector.cu:12", or its number. */
static void put_place(const struct show *show, uint64_t kernel, uint32_t insn)
{
	const struct server_line *l = server_line(show->server, kernel, insn);
	const char *path = l ? interner_get(show->server->strings, l->file, NULL) : "";
	const char *slash = strrchr(path, '/');

	if (*path)
		buf_printf(show->out, "%s:%u", slash ? slash + 1 : path, l->line);
	else
		buf_printf(show->out, "access %u", insn);
}

static int by_lines(const void *a, const void *b)
{
	const struct coalescing *x = a, *y = b;

	if (x->lines != y->lines)
		return x->lines < y->lines ? 1 : -1;
	return x->insn < y->insn ? -1 : x->insn > y->insn;
}

static void put_access(const struct show *show, const struct coalescing *c)
{
	char cell[TEXT_CELL];

	buf_printf(show->out, "  %13s", text_count(cell, c->lines));
	buf_printf(show->out, "  %12s  %10.2f  %8.2f  %5.1f  %5u  ", text_count(cell, c->accesses),
		(double)c->lines / (double)c->accesses, coalescing_least(c),
		(double)c->lanes / (double)c->accesses, c->size_bytes);
	put_place(show, c->kernel, c->insn);
	buf_puts(show->out, " of ");
	table_kernel(show, c->kernel);
	buf_putc(show->out, '\n');
}

int put_coalesce(const struct show *show)
{
	struct vec(struct coalescing) all = {0};
	struct values v;
	int error = table_values(show, COALESCING_MAP, &v);

	vec_foreach (e, &v.entries) {
		struct coalescing c = coalescing_of(&v, e);

		if (c.accesses && !error)
			error = vec_push(&all, c);
	}
	if (!error && !all.count)
		table_none(show->out);
	if (!error && all.count) {
		qsort(all.items, all.count, sizeof(*all.items), by_lines);
		buf_puts(show->out, "          lines      accesses  lines each  at least  lanes  "
				    "bytes  place\n");
	}
	for (size_t i = 0; !error && i < all.count && i < show->rows; i++)
		put_access(show, &all.items[i]);
	if (!error)
		table_rest(show, all.count);
	vec_release(&all);
	values_release(&v);
	return error;
}

struct heat {
	uint64_t page, bytes;
	uint64_t by_time[TIME_COLUMNS];
};

static int by_page(const void *a, const void *b)
{
	const struct heat *x = a, *y = b;

	return x->page < y->page ? -1 : x->page > y->page;
}

static int by_bytes(const void *a, const void *b)
{
	const struct heat *x = a, *y = b;

	return x->bytes < y->bytes ? 1 : x->bytes > y->bytes ? -1 : by_page(a, b);
}

/* How dark a time is, of the darkest. */
static char shade(uint64_t bytes, uint64_t most)
{
	static const char shades[] = " .:-=+*#%@";
	size_t last = sizeof(shades) - 2;

	if (!bytes)
		return ' ';
	return shades[1 + (size_t)((double)bytes / (double)most * (double)(last - 1) + 0.5)];
}

static void put_heat(const struct show *show, struct heat *rows, size_t count, uint64_t most)
{
	char cell[TEXT_CELL];
	size_t shown = count < show->rows ? count : show->rows;

	/* Those with the most bytes, in the order of memory. */
	qsort(rows, count, sizeof(*rows), by_bytes);
	qsort(rows, shown, sizeof(*rows), by_page);
	buf_puts(show->out, "  page                     bytes  time\n");
	for (size_t i = 0; i < shown; i++) {
		buf_printf(show->out, "  0x%-14" PRIx64 "  %12s  |", rows[i].page << PAGE_BITS,
			text_bytes(cell, rows[i].bytes));
		for (int t = 0; t < TIME_COLUMNS; t++)
			buf_putc(show->out, shade(rows[i].by_time[t], most));
		buf_puts(show->out, "|\n");
	}
	table_rest(show, count);
}

static int collect(const struct values *v, struct heat *rows, size_t *ret_count, uint64_t *ret_most)
{
	uint64_t first = UINT64_MAX, last = 0;
	struct map pages = MAP_INIT;
	int error = 0;

	*ret_count = 0;
	*ret_most = 0;
	vec_foreach (e, &v->entries) {
		uint64_t time = values_key_number(v, e, 8);

		first = time < first ? time : first;
		last = time > last ? time : last;
	}
	vec_foreach (e, &v->entries) {
		uint64_t page = values_key_number(v, e, 0), bytes = values_number(v, e, 0);
		const uint64_t *at = map_get(&pages, page);
		uint64_t column =
			(values_key_number(v, e, 8) - first) * TIME_COLUMNS / (last - first + 1);
		struct heat *row = &rows[at ? *at : *ret_count];

		if (!at) {
			error = error ?: map_put(&pages, page, (*ret_count)++);
			row->page = page;
		}
		row->bytes += bytes;
		row->by_time[column] += bytes;
		*ret_most = row->by_time[column] > *ret_most ? row->by_time[column] : *ret_most;
	}
	map_release(&pages);
	return error;
}

int put_memheat(const struct show *show)
{
	struct values v;
	int error = table_values(show, "bytes", &v);
	struct heat *rows = calloc(v.entries.count + 1, sizeof(*rows));
	uint64_t most;
	size_t count;

	if (!error)
		error = rows ? collect(&v, rows, &count, &most) : -ENOMEM;
	if (!error && count)
		put_heat(show, rows, count, most);
	else if (!error)
		table_none(show->out);
	free(rows);
	values_release(&v);
	return error;
}
