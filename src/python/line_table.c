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
 */
#include "python/line_table.h"

#define NO_LINE (-128)

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

static uint32_t lnotab_line(const uint8_t *table, size_t size, int64_t line, uint64_t offset)
{
	uint64_t at = 0;

	for (size_t i = 0; i + 2 <= size; i += 2) {
		at += table[i];
		if (at > offset)
			break;
		line += (int8_t)table[i + 1];
	}
	return as_line(line);
}

static uint32_t ranges_line(const uint8_t *table, size_t size, int64_t line, uint64_t offset)
{
	uint64_t end = 0;

	for (size_t i = 0; i + 2 <= size; i += 2) {
		int8_t lines = (int8_t)table[i + 1];

		if (lines != NO_LINE)
			line += lines;
		end += table[i];
		if (offset < end)
			return lines == NO_LINE ? 0 : as_line(line);
	}
	return 0;
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

static uint32_t locations_line(const uint8_t *table, size_t size, int64_t line, uint64_t offset)
{
	uint64_t end = 0;

	for (size_t i = 0; i < size;) {
		unsigned int kind = table[i] >> 3 & 15;

		end += 2 * (uint64_t)((table[i] & 7) + 1);
		if (kind == LOCATION_NO_COLUMNS || kind == LOCATION_LONG)
			line += signed_number(table, size, i + 1);
		else if (kind >= LOCATION_ONE_LINE && kind < LOCATION_NO_COLUMNS)
			line += kind - LOCATION_ONE_LINE;
		if (line > INT32_MAX || line < INT32_MIN)
			return 0;
		if (offset < end)
			return kind == LOCATION_NONE ? 0 : as_line(line);
		do
			i++;
		while (i < size && !(table[i] & 0x80));
	}
	return 0;
}

uint32_t python_line_at(enum python_lines format, const uint8_t *table, size_t size,
	uint32_t first_line, uint64_t offset)
{
	switch (format) {
	case PYTHON_LINES_LNOTAB:
		return lnotab_line(table, size, first_line, offset);
	case PYTHON_LINES_RANGES:
		return ranges_line(table, size, first_line, offset);
	case PYTHON_LINES_LOCATIONS:
		return locations_line(table, size, first_line, offset);
	}
	return 0;
}
