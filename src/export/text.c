// SPDX-License-Identifier: MIT
#include "export/text.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/json.h"

#define REPLACEMENT "\xef\xbf\xbd"

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

static void put_clean(struct buf *b, const char *text, size_t size, bool references)
{
	for (size_t i = 0; i < size;) {
		size_t length = utf8_sequence(text + i, size - i);
		unsigned char c = (unsigned char)text[i];
		const char *entity = references ? reference((char)c) : NULL;

		if (c < 0x20) {
			char picture[4] = {'\xe2', '\x90', (char)(0x80 + c), '\0'};

			buf_puts(b, picture);
			length = 1;
		} else if (!length || utf8_is_unfit(text + i, length)) {
			buf_puts(b, REPLACEMENT);
			length = length ? length : 1;
		} else if (entity) {
			buf_puts(b, entity);
		} else {
			buf_append(b, text + i, length);
		}
		i += length;
	}
}

void text_xml(struct buf *b, const char *text, size_t size)
{
	put_clean(b, text, size, true);
}

void text_clean(struct buf *b, const char *text, size_t size)
{
	put_clean(b, text, size, false);
}

void text_json(struct buf *b, const char *text, size_t size)
{
	struct buf clean = BUF_INIT;

	text_clean(&clean, text, size);
	json_string(b, clean.data, clean.size);
	b->failed |= clean.failed;
	buf_release(&clean);
}

static void put_folded(struct buf *b, const char *text, size_t size, char blank)
{
	if (!size)
		buf_puts(b, blank == ' ' ? "(no name)" : "_");
	for (size_t i = 0; i < size; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c == ';')
			c = ':';
		else if (c == ' ')
			c = (unsigned char)blank;
		else if (c < 0x20 || c == 0x7f)
			c = '?';
		buf_putc(b, (char)c);
	}
}

void text_folded(struct buf *b, const char *text, size_t size)
{
	put_folded(b, text, size, ' ');
}

void text_folded_word(struct buf *b, const char *text, size_t size)
{
	put_folded(b, text, size, '_');
}
