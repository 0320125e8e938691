// SPDX-License-Identifier: MIT
#include "base/text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/digits.h"
#include "base/printable.h"

struct unit {
	const char *name;
	double size;
};

#define DIGITS 3

/* So many digits of `value` in the smallest unit that holds it in three digits before the point. */
static const char *in_units(
	char cell[TEXT_CELL], double value, int digits, const struct unit *units, size_t count)
{
	size_t i = 0;
	int decimals = 0;
	double scaled;

	while (i + 1 < count && value / units[i].size >= 999.5)
		i++;
	scaled = value / units[i].size;
	if (i)
		decimals = digits - DIGITS + (scaled < 99.95) + (scaled < 9.995);
	snprintf(cell, TEXT_CELL, "%.*f %s", decimals > 0 ? decimals : 0, scaled, units[i].name);
	return cell;
}

static const char *duration(char cell[TEXT_CELL], uint64_t ns, int digits)
{
	static const struct unit units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};

	return in_units(cell, (double)ns, digits, units, sizeof(units) / sizeof(units[0]));
}

const char *text_duration(char cell[TEXT_CELL], uint64_t ns)
{
	return duration(cell, ns, DIGITS);
}

/* Up to the first one that is uncertain. */
static int digits_of_samples(uint64_t samples)
{
	return samples < 10 ? 1 : samples < 1000 ? 2 : DIGITS;
}

const char *text_sampled_duration(char cell[TEXT_CELL], uint64_t ns, uint64_t samples)
{
	int digits = digits_of_samples(samples);
	uint64_t limit = digits == 1 ? 10 : digits == 2 ? 100 : 1000, unit = 1, rest;

	while (ns / unit >= limit)
		unit *= 10;
	rest = ns % unit;
	return duration(cell, ns - rest + (rest >= unit - rest && rest ? unit : 0), digits);
}

const char *text_bytes(char cell[TEXT_CELL], uint64_t bytes)
{
	static const struct unit units[] = {
		{"B", 1}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"PB", 1e15}};

	return in_units(cell, (double)bytes, DIGITS, units, sizeof(units) / sizeof(units[0]));
}

const char *text_bandwidth(char cell[TEXT_CELL], uint64_t bytes, uint64_t ns)
{
	static const struct unit units[] = {
		{"kB/s", 1e3}, {"MB/s", 1e6}, {"GB/s", 1e9}, {"TB/s", 1e12}};

	if (ns)
		return in_units(cell, (double)bytes * 1e9 / (double)ns, DIGITS, units,
			sizeof(units) / sizeof(units[0]));
	snprintf(cell, TEXT_CELL, "-");
	return cell;
}

const char *text_count(char cell[TEXT_CELL], uint64_t count)
{
	_Static_assert(TEXT_CELL >= DIGITS_SIZE, "a cell holds any number");

	return digits_group(cell, count);
}

const char *text_percent(char cell[TEXT_CELL], uint64_t part, uint64_t whole)
{
	if (whole)
		snprintf(cell, TEXT_CELL, "%.1f %%", (double)part * 100 / (double)whole);
	else
		snprintf(cell, TEXT_CELL, "-");
	return cell;
}

const char *text_sampled_percent(
	char cell[TEXT_CELL], uint64_t part, uint64_t whole, uint64_t samples)
{
	double percent = whole ? (double)part * 100 / (double)whole : 0;
	int digits = digits_of_samples(samples);

	if (!whole || digits == DIGITS)
		return text_percent(cell, part, whole);
	snprintf(
		cell, TEXT_CELL, "%.*f %%", part && percent < (digits == 1 ? 0.95 : 9.95), percent);
	return cell;
}

const char *text_share(char cell[TEXT_CELL], double part, double whole)
{
	double percent = whole > 0 ? part * 100 / whole : 0;

	snprintf(cell, TEXT_CELL, percent < 9.95 ? "%.2g %%" : "%.0f %%", percent);
	return cell;
}

const char *text_error(char cell[TEXT_CELL], uint64_t sum, uint64_t high)
{
	double percent = sum ? ((double)high - (double)sum) * 100 / (double)sum : 0;

	if (high == UINT64_MAX)
		snprintf(cell, TEXT_CELL, "+- ?");
	else
		snprintf(cell, TEXT_CELL, percent < 9.95 ? "+- %.1f %%" : "+- %.0f %%", percent);
	return cell;
}

unsigned int text_width(int fd, unsigned int otherwise)
{
	const char *columns = getenv("COLUMNS");
	struct winsize size;

	if (columns && atoi(columns) > 0)
		return (unsigned int)atoi(columns);
	if (!ioctl(fd, TIOCGWINSZ, &size) && size.ws_col)
		return size.ws_col;
	return isatty(fd) ? 80 : otherwise;
}

/* The bytes of the next character, or 1 where it is none that can be printed; *ret_columns: those
 * that it takes. */
static size_t next_character(const char *text, size_t size, size_t *ret_columns)
{
	size_t length = printable_character(text, size);

	*ret_columns = length ? 1 : PRINTABLE_BYTE_COLUMNS;
	return length ? length : 1;
}

size_t text_columns(const char *text)
{
	size_t all = 0, columns;

	for (size_t left = strlen(text), length; left; left -= length) {
		length = next_character(text, left, &columns);
		text += length;
		all += columns;
	}
	return all;
}

/* The bytes of `text` that `columns` columns hold; *ret_rest: there is more. */
static size_t bytes_that_fit(const char *text, size_t size, size_t columns, bool *ret_rest)
{
	size_t at = 0, used;

	while (at < size) {
		size_t length = next_character(text + at, size - at, &used);

		if (used > columns)
			break;
		columns -= used;
		at += length;
	}
	*ret_rest = at < size;
	return at;
}

void text_fit(struct buf *b, const char *text, unsigned int columns)
{
	size_t size = strlen(text), fitting = size;
	bool rest = false;

	if (columns)
		fitting = bytes_that_fit(text, size, columns, &rest);
	if (rest && columns > 3)
		fitting = bytes_that_fit(text, size, columns - 3, &rest);
	printable_put(b, text, fitting);
	if (rest && columns > 3)
		buf_puts(b, "...");
}

/* Whether a shell takes the word as it stands. Bytes of UTF-8 mean nothing to it. */
static bool is_plain_word(const char *word)
{
	for (const char *at = word; *at; at++)
		if (!isalnum((unsigned char)*at) && !strchr("_@%+=:,./-", *at) &&
			(unsigned char)*at < 0x80)
			return false;
	return *word;
}

/* As $'a\nb', which bash and POSIX.1-2024 read. */
static void put_escaped_word(struct buf *b, const char *word)
{
	buf_puts(b, "$'");
	for (size_t length; *word; word += length) {
		length = printable_character(word, strlen(word));
		if (length && (*word == '\'' || *word == '\\'))
			buf_putc(b, '\\');
		if (length)
			buf_append(b, word, length);
		else if (*word == '\n' || *word == '\t')
			buf_puts(b, *word == '\n' ? "\\n" : "\\t");
		else
			printable_byte(b, *word);
		length = length ? length : 1;
	}
	buf_putc(b, '\'');
}

void text_shell_word(struct buf *b, const char *word)
{
	if (b->size)
		buf_putc(b, ' ');
	if (is_plain_word(word)) {
		buf_puts(b, word);
		return;
	}
	if (printable_span(word, strlen(word)) < strlen(word)) {
		put_escaped_word(b, word);
		return;
	}
	buf_putc(b, '\'');
	for (; *word; word++)
		if (*word == '\'')
			buf_puts(b, "'\\''");
		else
			buf_putc(b, *word);
	buf_putc(b, '\'');
}
