// SPDX-License-Identifier: MIT
/*
 * A str that the compiler makes is "compact": its characters follow its header, 1, 2 or 4 bytes
 * each. Others (of subclasses) are not in code objects and are not read.
 */
#include "python/objects.h"

#include <errno.h>
#include <string.h>

#define REPLACEMENT   0xfffd
#define STATE_COMPACT 1u
#define STATE_ASCII   2u

bool python_is_type(struct python_objects *o, uint64_t object, const char *name, uint64_t *known)
{
	uint64_t type, text;
	char found[8];
	size_t size = strlen(name) + 1;

	if (!python_read_word(&o->memory, object + o->layout.object_type, &type) || !type)
		return false;
	if (type == *known)
		return true;
	if (size > sizeof(found) ||
		!python_read_word(&o->memory, type + o->layout.type_name, &text) ||
		!python_read(&o->memory, text, found, size) || memcmp(found, name, size))
		return false;
	*known = type;
	return true;
}

/* Halves of pairs stand for bytes of file names that are not UTF-8, and no text holds them. */
static void append_character(struct buf *b, uint32_t c)
{
	char bytes[4];
	size_t size;

	if (!c || (c >= 0xd800 && c < 0xe000) || c > 0x10ffff)
		c = REPLACEMENT;
	if (c < 0x80) {
		bytes[0] = (char)c;
		size = 1;
	} else if (c < 0x800) {
		bytes[0] = (char)(0xc0 | c >> 6);
		bytes[1] = (char)(0x80 | (c & 63));
		size = 2;
	} else if (c < 0x10000) {
		bytes[0] = (char)(0xe0 | c >> 12);
		bytes[1] = (char)(0x80 | (c >> 6 & 63));
		bytes[2] = (char)(0x80 | (c & 63));
		size = 3;
	} else {
		bytes[0] = (char)(0xf0 | c >> 18);
		bytes[1] = (char)(0x80 | (c >> 12 & 63));
		bytes[2] = (char)(0x80 | (c >> 6 & 63));
		bytes[3] = (char)(0x80 | (c & 63));
		size = 4;
	}
	buf_append(b, bytes, size);
}

static void append_characters(struct buf *b, const uint8_t *data, size_t count, unsigned int width)
{
	for (size_t i = 0; i < count; i++) {
		uint32_t c = data[i];
		uint16_t pair;

		if (width == 2) {
			memcpy(&pair, data + 2 * i, sizeof(pair));
			c = pair;
		} else if (width == 4) {
			memcpy(&c, data + 4 * i, sizeof(c));
		}
		append_character(b, c);
	}
}

bool python_append_text(struct python_objects *o, uint64_t object, struct buf *b)
{
	const struct python_layout *l = &o->layout;
	uint8_t data[PYTHON_TEXT_MAX * 4];
	uint64_t length, from;
	uint32_t state;
	unsigned int width;

	if (!python_is_type(o, object, "str", &o->type_text) ||
		!python_read_word(&o->memory, object + l->text_length, &length) ||
		!python_read(&o->memory, object + l->text_state, &state, sizeof(state)))
		return false;
	state >>= l->text_kind_shift;
	width = state & 7;
	state >>= 3;
	if (!(state & STATE_COMPACT) || (width != 1 && width != 2 && width != 4))
		return false;
	from = object + (state & STATE_ASCII ? l->text_ascii : l->text_compact);
	if (length > PYTHON_TEXT_MAX)
		length = PYTHON_TEXT_MAX;
	if (!python_read(&o->memory, from, data, length * width))
		return false;
	append_characters(b, data, length, width);
	return !b->failed;
}

int python_append_bytes(struct python_objects *o, uint64_t object, size_t most, struct buf *b)
{
	uint64_t size;

	if (!python_is_type(o, object, "bytes", &o->type_bytes) ||
		!python_read_word(&o->memory, object + o->layout.bytes_size, &size) ||
		size > PYTHON_BYTES_MAX)
		return -ENOENT;
	if (size > most)
		return -E2BIG;
	if (!buf_reserve(b, size + 1) ||
		!python_read(&o->memory, object + o->layout.bytes_data, b->data + b->size, size))
		return -ENOENT;
	b->size += size;
	return 0;
}
