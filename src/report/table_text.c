// SPDX-License-Identifier: MIT
#include <stdio.h>

#include "base/printable.h"
#include "base/text.h"
#include "report/table.h"

/* Below that, columns that are only for wide reports make room for names. */
#define FULL_COLUMNS_MIN 100

size_t report_rows_shown(const struct report *r, size_t count)
{
	return r->top && r->top < count ? r->top : count;
}

void report_title(struct buf *out, const char *title, size_t shown, size_t count)
{
	buf_printf(out, "\n%s", title);
	if (shown < count)
		buf_printf(out, " (%zu of %zu)", shown, count);
	buf_putc(out, '\n');
}

unsigned int report_columns_left(const struct report *r, unsigned int used)
{
	if (!r->width)
		return 0;
	return r->width > used + REPORT_NAME_MIN ? r->width - used : REPORT_NAME_MIN;
}

/* The columns of the text by their position. */
struct line {
	const struct column *at[COLUMN_LAST + 1];
};

static struct line line_of(const struct report *r, const struct table *t)
{
	struct line line = {0};

	for (size_t i = 0; i < t->column_count; i++) {
		const struct column *c = &t->columns[i];

		if (c->heading && (!c->wide || !r->width || r->width >= FULL_COLUMNS_MIN) &&
			(!c->is_shown || c->is_shown(r)) && column_is_in(r, c))
			line.at[c->position] = c;
	}
	return line;
}

/* Appends a cell of a column that is not the last. */
static void put_cell(const struct column *c, struct buf *out, const char *text)
{
	size_t columns = text_columns(text);
	int blanks = columns < c->width ? (int)(c->width - columns) : 0;

	buf_puts(out, c->apart ? "  " : c->position > 1 ? " " : "");
	buf_printf(out, "%*s", c->left ? 0 : blanks, "");
	printable_puts(out, text);
	buf_printf(out, "%*s", c->left ? blanks : 0, "");
}

/* Whether the text has "-". */
static bool is_absent(const struct column *c, const void *row)
{
	if (c->kind == COLUMN_PERCENTILE)
		return !((const struct histogram *)((const char *)row + c->at))->count;
	if (c->kind == COLUMN_RANGE && !column_samples(c, row))
		return true;
	return c->is_absent && c->is_absent(row);
}

/* The text of a cell: in one of the two buffers that are passed in, or in the profile. */
static const char *cell_text(const struct report *r, const struct column *c, const void *row,
	char cell[TEXT_CELL], struct buf *text)
{
	uint64_t number = 0;

	if (is_absent(c, row))
		return "-";
	if (c->kind != COLUMN_TEXT)
		number = column_number(c, row);
	switch (c->kind) {
	case COLUMN_TEXT:
		c->text(r, row, text);
		return buf_text(text);
	case COLUMN_STRING:
		return profile_string(r->reader, (uint32_t)number, NULL);
	case COLUMN_NAME:
		return c->name_of((unsigned int)number);
	case COLUMN_COUNT:
		return text_count(cell, number);
	case COLUMN_DURATION:
	case COLUMN_PERCENTILE:
		return text_duration(cell, number);
	case COLUMN_SAMPLED:
		return text_sampled_duration(cell, number, column_samples(c, row));
	case COLUMN_SAMPLED_SHARE:
		return text_sampled_percent(
			cell, number, column_divisor(r, c, row), column_samples(c, row));
	case COLUMN_BYTES:
		return text_bytes(cell, number);
	case COLUMN_MEAN:
		return text_duration(cell, number / column_divisor(r, c, row));
	case COLUMN_SHARE:
		return text_percent(cell, number, column_divisor(r, c, row));
	case COLUMN_RATE:
		return text_bandwidth(cell, number, column_divisor(r, c, row));
	case COLUMN_RANGE:
		return text_error(cell, column_samples(c, row), column_range(c, row)->high);
	}
	return "";
}

static void put_value(
	const struct report *r, const struct column *c, const void *row, struct buf *out)
{
	char cell[TEXT_CELL];
	struct buf text = BUF_INIT;

	put_cell(c, out, cell_text(r, c, row, cell, &text));
	buf_release_for(&text, out);
}

/* Appends the last column of a line, of which so many columns are used. Lines that are cut as a
 * whole are not yet. */
static void put_last(const struct report *r, const struct table *t, const struct column *c,
	const void *row, unsigned int used, struct buf *out)
{
	unsigned int columns = t->whole_lines ? 0 : report_columns_left(r, used);
	struct buf buf = BUF_INIT;
	char cell[TEXT_CELL];

	if (c->fit) {
		c->fit(r, row, columns, out);
	} else {
		const char *text = cell_text(r, c, row, cell, &buf);

		(c->cut ?: text_fit)(out, *text || !c->if_empty ? text : c->if_empty, columns);
	}
	buf_release_for(&buf, out);
}

/* Appends one line of the table, without its end: headings, where there is no row. */
static void put_line(
	const struct report *r, const struct table *t, const void *row, struct buf *out)
{
	struct line line = line_of(r, t);
	const struct column *last = line.at[COLUMN_LAST];
	unsigned int used = 2;

	for (unsigned int i = 1; i < COLUMN_LAST; i++) {
		const struct column *c = line.at[i];

		if (c && row)
			put_value(r, c, row, out);
		else if (c)
			put_cell(c, out, c->heading);
		used += c ? c->width + (i > 1) + c->apart : 0;
	}
	buf_puts(out, last ? "  " : "");
	if (last && row)
		put_last(r, t, last, row, used, out);
	else if (last)
		buf_puts(out, last->heading);
}

void table_headings(const struct report *r, const struct table *t, struct buf *out)
{
	put_line(r, t, NULL, out);
	buf_putc(out, '\n');
}

void table_row_text(const struct report *r, const struct table *t, const void *row, struct buf *out)
{
	struct buf line = BUF_INIT;

	put_line(r, t, row, t->whole_lines ? &line : out);
	text_fit(out, buf_text(&line), r->width);
	buf_putc(out, '\n');
	buf_release_for(&line, out);
	if (t->below)
		t->below(r, row, out);
}

/* A row that the text has; NULL: it has not. */
static const void *row_of(const struct report *r, const struct table *t, size_t n)
{
	const void *row = table_row(r, t, n);

	return !t->has_row || t->has_row(row) ? row : NULL;
}

void table_text(const struct report *r, const struct table *t, struct buf *out)
{
	size_t all = table_row_count(r, t), count = 0, left;

	for (size_t i = 0; i < all; i++)
		count += row_of(r, t, i) != NULL;
	if (!count)
		return;
	left = table_rows_shown(r, t, count);
	report_title(out, t->title, left, count);
	table_headings(r, t, out);
	for (size_t i = 0; left; i++) {
		const void *row = row_of(r, t, i);

		if (!row)
			continue;
		table_row_text(r, t, row, out);
		left--;
	}
}
