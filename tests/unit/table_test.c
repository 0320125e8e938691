// SPDX-License-Identifier: MIT
/* Tables of a report: a description, and what the two writers make of it. */
#include <string.h>

#include "base/histogram.h"
#include "base/json_writer.h"
#include "base/vec.h"
#include "report/table.h"
#include "tap.h"

struct fruit {
	const char *name;
	uint8_t kind;
	uint32_t box;
	uint64_t pieces, grams, ns, bytes;
};

/* What a report has its rows in; the writers know it by its offset alone. */
static struct fruits {
	struct vec(struct fruit) rows;
} fruits;

static const char *kind_name(unsigned int kind)
{
	return kind ? "stone" : "pome";
}

static void fruit_name(const struct report *r, const void *row, struct buf *b)
{
	(void)r;
	buf_puts(b, ((const struct fruit *)row)->name);
}

static bool has_no_bytes(const void *row)
{
	return !((const struct fruit *)row)->bytes;
}

static bool is_stone(const void *row)
{
	return ((const struct fruit *)row)->kind;
}

static uint64_t all_grams(const struct report *r)
{
	(void)r;
	return 1000;
}

static void put_ripe(const struct report *r, const void *row, struct buf *out)
{
	(void)r;
	if (is_stone(row))
		buf_puts(out, "     ripe\n");
}

static void colour_json(const struct report *r, const void *row, struct json_writer *w)
{
	(void)r;
	(void)row;
	json_text(w, "colour", NULL);
}

static const struct column columns[] = {
	{"fruit", "name", COLUMN_LAST, .text = fruit_name, .if_empty = "(no name)"},
	{"kind", "kind", 4, 5, NAME(struct fruit, kind, kind_name), .left = true, .apart = true},
	{"pieces", "pieces", 1, 6, COUNT(struct fruit, pieces)},
	{.key = "box", COUNT(struct fruit, box)},
	{.key = "ns", DURATION(struct fruit, ns)},
	{"each", "each_ns", 2, 7, MEAN(struct fruit, ns, pieces)},
	{"share", "share", 3, 7, SHARE_OF(struct fruit, grams, all_grams)},
	{"size", "bytes", 5, 7, BYTES(struct fruit, bytes), .is_absent = has_no_bytes},
	{"rate", "gb_per_s", 6, 9, RATE(struct fruit, bytes, ns), .wide = true},
	{.json = colour_json},
};

/* Rows are found from the report: `path` points to them here. */
static const struct table table = {.title = "Fruits",
	.key = "fruits",
	TABLE_COLUMNS(columns),
	.owner = offsetof(struct report, path),
	.list = offsetof(struct fruits, rows),
	.row_size = sizeof(struct fruit),
	.below = put_ripe};

static struct report report_of(unsigned int width, size_t top)
{
	return (struct report){.path = (const char *)&fruits, .width = width, .top = top};
}

static void check_text(const struct table *t, unsigned int width, size_t top, const char *expected)
{
	struct report r = report_of(width, top);
	struct buf out = BUF_INIT;

	table_text(&r, t, &out);
	CHECK_TEXT(buf_text(&out), expected);
	buf_release(&out);
}

static void check_json(const struct table *t, size_t top, const char *expected)
{
	struct report r = report_of(0, top);
	struct buf out = BUF_INIT;
	struct json_writer w = {.out = &out};

	table_json(&r, t, &w);
	CHECK_TEXT(buf_text(&out), expected);
	buf_release(&out);
}

static void numbers_stand_in_columns_and_names_last(void)
{
	check_text(&table, 0, 0,
		"\nFruits\n"
		"pieces    each   share  kind     size      rate  fruit\n"
		"     3 1.00 us   2.5 %  pome        -    0 kB/s  apple of a long name\n"
		" 2,000  500 ns  97.5 %  stone 1.00 kB  999 kB/s  (no name)\n"
		"     ripe\n");
}

static void names_are_cut_at_the_width_and_wide_columns_left_out(void)
{
	check_text(&table, 52, 0,
		"\nFruits\n"
		"pieces    each   share  kind     size  fruit\n"
		"     3 1.00 us   2.5 %  pome        -  apple of a ...\n"
		" 2,000  500 ns  97.5 %  stone 1.00 kB  (no name)\n"
		"     ripe\n");
}

static void lines_can_be_cut_as_a_whole(void)
{
	struct table whole = table;

	whole.whole_lines = true;
	whole.has_row = is_stone;
	check_text(&whole, 20, 0,
		"\nFruits\n"
		"pieces    each   share  kind     size  fruit\n"
		" 2,000  500 ns  9...\n"
		"     ripe\n");
}

static void as_many_rows_as_are_wanted_are_written(void)
{
	struct table all = table;

	check_text(&table, 50, 1,
		"\nFruits (1 of 2)\n"
		"pieces    each   share  kind     size  fruit\n"
		"     3 1.00 us   2.5 %  pome        -  apple of a ...\n");
	all.all = true;
	all.has_row = is_stone;
	check_text(&all, 0, 1,
		"\nFruits\n"
		"pieces    each   share  kind     size      rate  fruit\n"
		" 2,000  500 ns  97.5 %  stone 1.00 kB  999 kB/s  (no name)\n"
		"     ripe\n");
	check_json(&table, 1,
		"\"fruits\":[{\"name\":\"apple of a long "
		"name\",\"kind\":\"pome\",\"pieces\":3,\"box\":7,\"ns\":3000,"
		"\"each_ns\":1000,\"share\":0.025,\"bytes\":0,\"gb_per_s\":0,\"colour\":null}]");
}

static void programs_get_values_whole(void)
{
	check_json(&table, 0,
		"\"fruits\":[{\"name\":\"apple of a long "
		"name\",\"kind\":\"pome\",\"pieces\":3,\"box\":7,\"ns\":3000,"
		"\"each_ns\":1000,\"share\":0.025,\"bytes\":0,\"gb_per_s\":0,\"colour\":null},"
		"{\"name\":\"\",\"kind\":\"stone\",\"pieces\":2000,\"box\":8,\"ns\":1001000,"
		"\"each_ns\":500.5,\"share\":0.975,\"bytes\":1000,\"gb_per_s\":0.000999001,"
		"\"colour\":null}]");
}

static void a_table_without_rows_is_an_empty_list_and_no_text(void)
{
	size_t count = fruits.rows.count;

	fruits.rows.count = 0;
	check_text(&table, 0, 0, "");
	check_json(&table, 0, "\"fruits\":[]");
	fruits.rows.count = count;
}

int main(void)
{
	struct fruit rows[] = {
		{"apple of a long name", 0, 7, 3, 25, 3000, 0},
		{"", 1, 8, 2000, 975, 1001000, 1000},
	};

	fruits.rows.items = rows;
	fruits.rows.count = 2;
	RUN(numbers_stand_in_columns_and_names_last);
	RUN(names_are_cut_at_the_width_and_wide_columns_left_out);
	RUN(lines_can_be_cut_as_a_whole);
	RUN(as_many_rows_as_are_wanted_are_written);
	RUN(programs_get_values_whole);
	RUN(a_table_without_rows_is_an_empty_list_and_no_text);
	return tap_end();
}
