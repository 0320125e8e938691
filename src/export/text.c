// SPDX-License-Identifier: MIT
#include "export/text.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/json.h"

#define REPLACEMENT "\xef\xbf\xbd"

static uint32_t code_point(const char *p, size_t length)
{
	const unsigned char *s = (const unsigned char *)p;
	uint32_t code = length == 1 ? s[0] : s[0] & (0x7f >> length);

	for (size_t i = 1; i < length; i++)
		code = code << 6 | (s[i] & 0x3f);
	return code;
}

/* Code points that no reader should get to see: C1 controls, line and paragraph separators,
 * direction marks and overrides, U+FEFF inside text, and those that XML 1.0 leaves out (U+FFFE,
 * U+FFFF). */
static bool is_unfit(uint32_t code)
{
	return (code >= 0x7f && code <= 0x9f) || (code >= 0x200e && code <= 0x200f) ||
		(code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) ||
		code == 0x061c || code == 0xfeff || code == 0xfffe || code == 0xffff;
}

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
		} else if (!length || is_unfit(code_point(text + i, length))) {
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
