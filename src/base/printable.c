// SPDX-License-Identifier: MIT
/*
 * Nearly all names are ASCII, so runs of it are found first; only what is longer is decoded.
 */
#include "base/printable.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Lowest code point that needs a sequence of this length: shorter forms are overlong. */
static const uint32_t lowest[5] = {0, 0, 0x80, 0x800, 0x10000};

struct code_range {
	uint32_t first, last;
};

/* Beyond ASCII, in order. Noncharacters at the end of each plane are not in it. */
static const struct code_range hidden[] = {
	{0x80, 0x9f},	    /* controls */
	{0xad, 0xad},	    /* soft hyphen */
	{0x61c, 0x61c},	    /* Arabic letter mark */
	{0x180e, 0x180e},   /* Mongolian vowel separator */
	{0x200b, 0x200b},   /* zero width space; not the joiners, which scripts need */
	{0x200e, 0x200f},   /* marks of direction */
	{0x2028, 0x202e},   /* line and paragraph separators, embeddings and overrides */
	{0x2060, 0x206f},   /* invisible operators, isolates */
	{0xfdd0, 0xfdef},   /* noncharacters */
	{0xfeff, 0xfeff},   /* byte order mark */
	{0xfff0, 0xfffb},   /* annotations; the rest is unassigned */
	{0x1d173, 0x1d17a}, /* of musical notation */
	{0xe0000, 0xe0fff}, /* tags, variations */
};

size_t utf8_sequence(const char *p, size_t left)
{
	const unsigned char *s = (const unsigned char *)p;
	size_t length;
	uint32_t code;

	if (!left)
		return 0;
	if (s[0] < 0x80)
		return 1;
	length = (s[0] & 0xe0) == 0xc0	 ? 2
		 : (s[0] & 0xf0) == 0xe0 ? 3
		 : (s[0] & 0xf8) == 0xf0 ? 4
					 : 0;
	if (!length || length > left)
		return 0;
	code = s[0] & (0x7f >> length);
	for (size_t i = 1; i < length; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (s[i] & 0x3f);
	}
	if (code < lowest[length] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
		return 0;
	return length;
}

/* Of a valid sequence of several bytes. */
static uint32_t code_point(const char *p, size_t length)
{
	const unsigned char *s = (const unsigned char *)p;
	uint32_t code = s[0] & (0x7f >> length);

	for (size_t i = 1; i < length; i++)
		code = code << 6 | (s[i] & 0x3f);
	return code;
}

static bool is_hidden(uint32_t code)
{
	size_t i = 0;

	while (i < sizeof(hidden) / sizeof(hidden[0]) && code > hidden[i].last)
		i++;
	return (i < sizeof(hidden) / sizeof(hidden[0]) && code >= hidden[i].first) ||
	       (code & 0xfffe) == 0xfffe;
}

static bool is_printable_ascii(char c)
{
	return c >= ' ' && c <= '~';
}

size_t printable_character(const char *p, size_t left)
{
	size_t length;

	if (left && is_printable_ascii(*p))
		return 1;
	length = utf8_sequence(p, left);
	return length > 1 && !is_hidden(code_point(p, length)) ? length : 0;
}

size_t printable_span(const char *text, size_t size)
{
	size_t at = 0, length = 0;

	do {
		at += length;
		while (at < size && is_printable_ascii(text[at]))
			at++;
		length = printable_character(text + at, size - at);
	} while (length);
	return at;
}

void printable_byte(struct buf *b, char byte)
{
	buf_printf(b, "\\x%02x", (unsigned char)byte);
}

void printable_put(struct buf *b, const char *text, size_t size)
{
	for (;;) {
		size_t span = printable_span(text, size);

		buf_append(b, text, span);
		if (span == size)
			return;
		printable_byte(b, text[span]);
		text += span + 1;
		size -= span + 1;
	}
}

void printable_puts(struct buf *b, const char *text)
{
	printable_put(b, text, strlen(text));
}

void printable_lines(struct buf *b, const char *text, size_t size)
{
	const char *end;

	for (; (end = memchr(text, '\n', size)); text = end + 1) {
		printable_put(b, text, (size_t)(end - text));
		buf_putc(b, '\n');
		size -= (size_t)(end - text) + 1;
	}
	printable_put(b, text, size);
}

static void put_quoted(struct buf *b, const char *text, size_t size)
{
	for (size_t i = 0, from = 0; i <= size; i++) {
		if (i < size && text[i] != '"' && text[i] != '\\')
			continue;
		buf_append(b, text + from, i - from);
		if (i < size)
			buf_putc(b, '\\');
		from = i;
	}
}

void printable_quoted(struct buf *b, const char *text, size_t size)
{
	for (;;) {
		size_t span = printable_span(text, size);

		put_quoted(b, text, span);
		if (span == size)
			return;
		buf_putc(b, '\\');
		printable_byte(b, text[span]);
		text += span + 1;
		size -= span + 1;
	}
}
