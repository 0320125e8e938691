// SPDX-License-Identifier: MIT
#include "base/json.h"

#include <string.h>

#include "base/printable.h"

void json_string(struct buf *b, const char *text, size_t size)
{
	buf_putc(b, '"');
	printable_quoted(b, text, size);
	buf_putc(b, '"');
}

void json_lines(struct buf *b, const char *text, size_t size)
{
	const char *end;

	buf_putc(b, '"');
	for (; size && (end = memchr(text, '\n', size)); text = end + 1) {
		printable_quoted(b, text, (size_t)(end - text));
		buf_puts(b, "\\n");
		size -= (size_t)(end - text) + 1;
	}
	printable_quoted(b, text, size);
	buf_putc(b, '"');
}

void json_document(struct buf *b, const char *text, size_t size)
{
	const char *end = text + size;

	buf_putc(b, '"');
	for (const char *at = text; at < end; at++) {
		unsigned char c = (unsigned char)*at;

		if (c == '"' || c == '\\')
			buf_putc(b, '\\');
		if (c < 0x20)
			buf_printf(b, "\\u%04x", c);
		else
			buf_putc(b, *at);
	}
	buf_putc(b, '"');
}
