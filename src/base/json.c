// SPDX-License-Identifier: MIT
#include "base/json.h"

#include <stdint.h>

/* Lowest code point that needs a sequence of this length: shorter forms are overlong. */
static const uint32_t lowest[5] = {0, 0, 0x80, 0x800, 0x10000};

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

static uint32_t code_point(const char *p, size_t length)
{
	const unsigned char *s = (const unsigned char *)p;
	uint32_t code = length == 1 ? s[0] : s[0] & (0x7f >> length);

	for (size_t i = 1; i < length; i++)
		code = code << 6 | (s[i] & 0x3f);
	return code;
}

bool utf8_is_unfit(const char *p, size_t length)
{
	uint32_t code = code_point(p, length);

	return (code >= 0x7f && code <= 0x9f) || (code >= 0x200e && code <= 0x200f) ||
	       (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) ||
	       code == 0x061c || code == 0xfeff || code == 0xfffe || code == 0xffff;
}

void json_string(struct buf *b, const char *text, size_t size)
{
	buf_putc(b, '"');
	for (size_t i = 0; i < size;) {
		size_t length = utf8_sequence(text + i, size - i);
		unsigned char c = (unsigned char)text[i];

		if (!length) {
			buf_puts(b, "\\ufffd");
			i++;
			continue;
		}
		if (c == '"' || c == '\\')
			buf_putc(b, '\\');
		if (c < 0x20)
			buf_printf(b, "\\u%04x", c);
		else
			buf_append(b, text + i, length);
		i += length;
	}
	buf_putc(b, '"');
}
