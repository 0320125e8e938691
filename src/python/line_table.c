// SPDX-License-Identifier: MIT
/*
 * All three go through the code from its beginning and say how the line changes.
 *
 *	lnotab     Until 3.9. Pairs: bytes of code (unsigned), lines (signed). The line of an
 *	           offset is the sum of the pairs whose code begins at or before it.
 *	ranges     3.10. Pairs: bytes of code (unsigned), lines (signed). The line changes first
 *	           and then holds for so many bytes; -128 lines: these bytes have no line.
 *	locations  From 3.11 on. Entries that begin with a byte 1 cccc nnn: kind c, and n + 1
 *	           units of 2 bytes of code. What follows has no highest bit. Kinds 0 to 9: the
 *	           same line. 10 to 12: kind - 10 lines later. 13, 14: so many lines later as a
 *	           signed number says that comes next. 15: no line.
 *	           Numbers are in groups of 6 bits, lowest first; bit 6: more follows. Signed
 *	           ones have the sign in the lowest bit.
 *
 * Source: Objects/lnotab_notes.txt of 3.9 and 3.10, Objects/locations.md of 3.11.
 *
 * A look-up begins at the last mark before the offset. Marks are made once, when all of the table
 * is read: one for each so many bytes.
 */
#include "python/line_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"

#define NO_LINE	   (-128)
#define MARK_EVERY 256 /* bytes of the table */

enum location_kind {
	LOCATION_ONE_LINE = 10,
	LOCATION_NO_COLUMNS = 13,
	LOCATION_LONG = 14,
	LOCATION_NONE = 15
};

static uint32_t as_line(int64_t line)
{
	return line > 0 && line <= INT32_MAX ? (uint32_t)line : 0;
}

/* Reads the next entry: false at the end. *ret_line is the line of the code until m->end. */
static bool next_lnotab(
	const struct python_line_table *t, struct python_line_mark *m, uint32_t *ret_line)
{
	const uint8_t *entry;

	if (t->size - m->at < 2)
		return false;
	entry = t->bytes + m->at;
	*ret_line = as_line(m->line);
	m->end += entry[0];
	m->line += (int8_t)entry[1];
	m->at += 2;
	return true;
}

static bool next_range(
	const struct python_line_table *t, struct python_line_mark *m, uint32_t *ret_line)
{
	const uint8_t *entry;
	int8_t lines;

	if (t->size - m->at < 2)
		return false;
	entry = t->bytes + m->at;
	lines = (int8_t)entry[1];
	if (lines != NO_LINE)
		m->line += lines;
	*ret_line = lines == NO_LINE ? 0 : as_line(m->line);
	m->end += entry[0];
	m->at += 2;
	return true;
}

static int64_t signed_number(const uint8_t *table, size_t size, size_t at)
{
	uint64_t value = 0;

	for (int shift = 0; at < size && shift < 60; shift += 6, at++) {
		value |= (uint64_t)(table[at] & 63) << shift;
		if (!(table[at] & 64))
			break;
	}
	return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

/* To where an entry begins: what follows the last one's beginning can be long. */
static void skip_to_location(const struct python_line_table *t, struct python_line_mark *m)
{
	while (m->at && m->at < t->size && !(t->bytes[m->at] & 0x80))
		m->at++;
}

static bool next_location(
	const struct python_line_table *t, struct python_line_mark *m, uint32_t *ret_line)
{
	unsigned int kind;

	skip_to_location(t, m);
	if (m->at >= t->size)
		return false;
	kind = t->bytes[m->at] >> 3 & 15;
	m->end += 2 * (uint64_t)((t->bytes[m->at] & 7) + 1);
	if (kind == LOCATION_NO_COLUMNS || kind == LOCATION_LONG)
		m->line += signed_number(t->bytes, t->size, m->at + 1);
	else if (kind >= LOCATION_ONE_LINE && kind < LOCATION_NO_COLUMNS)
		m->line += kind - LOCATION_ONE_LINE;
	*ret_line = kind == LOCATION_NONE ? 0 : as_line(m->line);
	m->at++;
	return m->line <= INT32_MAX && m->line >= INT32_MIN;
}

static bool next(const struct python_line_table *t, struct python_line_mark *m, uint32_t *ret_line)
{
	switch (t->format) {
	case PYTHON_LINES_LNOTAB:
		return next_lnotab(t, m, ret_line);
	case PYTHON_LINES_RANGES:
		return next_range(t, m, ret_line);
	case PYTHON_LINES_LOCATIONS:
		return next_location(t, m, ret_line);
	}
	return false;
}

static int make_marks(struct python_line_table *t)
{
	struct python_line_mark m = {.line = t->first_line};
	uint32_t marked = 0, line;
	int error = 0;

	do {
		if (t->format == PYTHON_LINES_LOCATIONS)
			skip_to_location(t, &m);
		if (m.at - marked < MARK_EVERY)
			continue;
		marked = m.at;
		error = vec_push(&t->marks, m);
	} while (!error && next(t, &m, &line));
	return error;
}

int python_line_table_init(struct python_line_table *t, enum python_lines format,
	uint32_t first_line, const void *bytes, uint32_t size)
{
	int error;

	*t = (struct python_line_table){.format = format, .first_line = first_line, .size = size};
	if (!size)
		return 0;
	t->bytes = malloc(size);
	if (!t->bytes)
		return -ENOMEM;
	memcpy(t->bytes, bytes, size);
	error = make_marks(t);
	if (error)
		python_line_table_release(t);
	return error;
}

void python_line_table_release(struct python_line_table *t)
{
	free(t->bytes);
	vec_release(&t->marks);
	*t = (struct python_line_table){0};
}

size_t python_line_table_bytes(const struct python_line_table *t)
{
	return t->size + t->marks.capacity * sizeof(*t->marks.items);
}

uint32_t python_line_at(const struct python_line_table *t, uint64_t offset)
{
	size_t after = search_first(i, 0, t->marks.count, t->marks.items[i].end > offset);
	struct python_line_mark m = {.line = t->first_line};
	uint32_t line;

	if (after)
		m = t->marks.items[after - 1];
	while (next(t, &m, &line))
		if (offset < m.end)
			return line;
	return t->format == PYTHON_LINES_LNOTAB ? as_line(m.line) : 0;
}
