// SPDX-License-Identifier: MIT
/* A message has one byte for its size in front; where that is not enough, its bytes are moved when
 * it ends. */
#include "base/protobuf.h"

#include <endian.h>
#include <string.h>

#include "base/printable.h"

/* Wire types: what stands behind a field's number. */
enum { VARINT = 0, FIXED64 = 1, SIZED = 2 };

#define VARINT_MAX 10

static inline size_t encode(uint8_t *bytes, uint64_t value)
{
	size_t n = 0;

	for (; value >= 0x80; value >>= 7)
		bytes[n++] = (uint8_t)(value | 0x80);
	bytes[n++] = (uint8_t)value;
	return n;
}

static inline size_t encode_tag(uint8_t *bytes, uint32_t field, unsigned int type)
{
	return encode(bytes, (uint64_t)field << 3 | type);
}

void protobuf_packed(struct buf *b, uint64_t value)
{
	if (buf_reserve(b, VARINT_MAX))
		b->size += encode((uint8_t *)b->data + b->size, value);
}

static void put_tag(struct buf *b, uint32_t field, unsigned int type)
{
	protobuf_packed(b, (uint64_t)field << 3 | type);
}

void protobuf_number(struct buf *b, uint32_t field, uint64_t value)
{
	uint8_t *end;

	if (!buf_reserve(b, 2 * VARINT_MAX))
		return;
	end = (uint8_t *)b->data + b->size;
	end += encode_tag(end, field, VARINT);
	end += encode(end, value);
	b->size = (size_t)(end - (uint8_t *)b->data);
}

void protobuf_fixed(struct buf *b, uint32_t field, uint64_t value)
{
	uint64_t little = htole64(value);
	uint8_t *end;

	if (!buf_reserve(b, VARINT_MAX + sizeof(little)))
		return;
	end = (uint8_t *)b->data + b->size;
	end += encode_tag(end, field, FIXED64);
	memcpy(end, &little, sizeof(little));
	b->size = (size_t)(end - (uint8_t *)b->data) + sizeof(little);
}

void protobuf_double(struct buf *b, uint32_t field, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	protobuf_fixed(b, field, bits);
}

void protobuf_bytes(struct buf *b, uint32_t field, const void *data, size_t size)
{
	put_tag(b, field, SIZED);
	protobuf_packed(b, size);
	buf_append(b, data, size);
}

void protobuf_printable(struct buf *b, uint32_t field, const char *text, size_t size)
{
	size_t mark = protobuf_begin(b, field);

	printable_put(b, text, size);
	protobuf_end(b, mark);
}

size_t protobuf_begin(struct buf *b, uint32_t field)
{
	put_tag(b, field, SIZED);
	protobuf_packed(b, 0);
	return b->size;
}

void protobuf_end(struct buf *b, size_t mark)
{
	size_t size = b->size - mark, n;
	uint8_t bytes[VARINT_MAX];

	if (size < 0x80 && !b->failed) {
		b->data[mark - 1] = (char)size;
		return;
	}
	if (!buf_reserve(b, VARINT_MAX))
		return;
	n = encode(bytes, size);
	memmove(b->data + mark + n - 1, b->data + mark, size);
	memcpy(b->data + mark - 1, bytes, n);
	b->size += n - 1;
}
