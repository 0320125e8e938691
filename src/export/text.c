// SPDX-License-Identifier: MIT
#include "export/text.h"

#include <string.h>

#include "base/printable.h"

static const char *reference(char c)
{
	switch (c) {
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '&':
		return "&amp;";
	case '"':
		return "&quot;";
	case '\'':
		return "&#39;";
	}
	return NULL;
}

static void put_references(struct buf *b, const char *text, size_t size)
{
	size_t from = 0;

	for (size_t i = 0; i < size; i++) {
		const char *entity = reference(text[i]);

		if (!entity)
			continue;
		buf_append(b, text + from, i - from);
		buf_puts(b, entity);
		from = i + 1;
	}
	buf_append(b, text + from, size - from);
}

void text_xml(struct buf *b, const char *text, size_t size)
{
	for (;;) {
		size_t span = printable_span(text, size);

		put_references(b, text, span);
		if (span == size)
			return;
		printable_byte(b, text[span]);
		text += span + 1;
		size -= span + 1;
	}
}

static void put_folded(struct buf *b, const char *text, size_t size, char blank)
{
	size_t start = b->size;

	if (!size)
		buf_puts(b, blank == ' ' ? "(no name)" : "_");
	printable_put(b, text, size);
	for (size_t i = start; i < b->size; i++)
		if (b->data[i] == ';')
			b->data[i] = ':';
		else if (b->data[i] == ' ')
			b->data[i] = blank;
}

void text_folded(struct buf *b, const char *text, size_t size)
{
	put_folded(b, text, size, ' ');
}

void text_folded_word(struct buf *b, const char *text, size_t size)
{
	put_folded(b, text, size, '_');
}
