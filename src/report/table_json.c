// SPDX-License-Identifier: MIT
#include "base/json_writer.h"
#include "report/table.h"

static void put_text(
	const struct report *r, const struct column *c, const void *row, struct json_writer *w)
{
	struct buf text = BUF_INIT;

	c->text(r, row, &text);
	json_text(w, c->key, buf_text(&text));
	buf_release_for(&text, w->out);
}

void report_range_json(struct json_writer *w, const char *low_key, const char *high_key,
	const struct spread_range *range)
{
	json_number(w, low_key, range->low);
	if (range->high == SPREAD_NOT_KNOWN)
		json_text(w, high_key, NULL);
	else
		json_number(w, high_key, range->high);
}

static void put_member(
	const struct report *r, const struct column *c, const void *row, struct json_writer *w)
{
	uint64_t number = c->kind == COLUMN_TEXT ? 0 : column_number(c, row), divisor;

	switch (c->kind) {
	case COLUMN_TEXT:
		put_text(r, c, row, w);
		break;
	case COLUMN_STRING:
		json_text(w, c->key,
			number ? profile_string(r->reader, (uint32_t)number, NULL) : NULL);
		break;
	case COLUMN_NAME:
		json_text(w, c->key, c->name_of((unsigned int)number));
		break;
	case COLUMN_MEAN:
	case COLUMN_SHARE:
	case COLUMN_RATE:
		divisor = column_divisor(r, c, row);
		json_real(w, c->key, divisor ? (double)number / (double)divisor : 0);
		break;
	case COLUMN_RANGE:
		report_range_json(w, c->key, c->high_key, column_range(c, row));
		break;
	default:
		json_number(w, c->key, number);
	}
}

void table_members(
	const struct report *r, const struct table *t, const void *row, struct json_writer *w)
{
	for (size_t i = 0; i < t->column_count; i++) {
		const struct column *c = &t->columns[i];

		if (!column_is_in(r, c))
			continue;
		if (c->json)
			c->json(r, row, w);
		else if (c->key)
			put_member(r, c, row, w);
	}
}

void table_row_json(
	const struct report *r, const struct table *t, const void *row, struct json_writer *w)
{
	json_begin(w, NULL, '{');
	table_members(r, t, row, w);
	json_end(w, '}');
}

void table_json(const struct report *r, const struct table *t, struct json_writer *w)
{
	size_t shown = table_rows_shown(r, t, table_row_count(r, t));

	json_begin(w, t->key, '[');
	for (size_t i = 0; i < shown; i++)
		table_row_json(r, t, table_row(r, t, i), w);
	json_end(w, ']');
}
