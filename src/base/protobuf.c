// SPDX-License-Identifier: MIT
/* A message has one byte for its size in front; where that is not enough, its bytes are moved when
 * it ends. */
#include "base/protobuf.h"

#include <endian.h>
#include <string.h>

#include "base/printable.h"

void protobuf_fixed(struct buf *b, uint32_t field, uint64_t value)
{
	uint64_t little = htole64(value);
	uint8_t *p;

	if (!buf_reserve(b, PROTOBUF_VARINT_MAX + sizeof(little)))
		return;
	p = protobuf_put_tag((uint8_t *)b->data + b->size, field, PROTOBUF_FIXED64);
	memcpy(p, &little, sizeof(little));
	b->size = (size_t)(p - (uint8_t *)b->data) + sizeof(little);
}

void protobuf_double(struct buf *b, uint32_t field, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	protobuf_fixed(b, field, bits);
}

void protobuf_bytes(struct buf *b, uint32_t field, const void *data, size_t size)
{
	protobuf_packed(b, (uint64_t)field << 3 | PROTOBUF_SIZED);
	protobuf_packed(b, size);
	buf_append(b, data, size);
}

void protobuf_printable(struct buf *b, uint32_t field, const char *text, size_t size)
{
	size_t mark = protobuf_begin(b, field);

	printable_put(b, text, size);
	protobuf_end(b, mark);
}

void protobuf_end_long(struct buf *b, size_t mark)
{
	size_t size = b->size - mark, n;
	uint8_t bytes[PROTOBUF_VARINT_MAX];

	if (!buf_reserve(b, sizeof(bytes)))
		return;
	n = (size_t)(protobuf_put(bytes, size) - bytes);
	memmove(b->data + mark + n - 1, b->data + mark, size);
	memcpy(b->data + mark - 1, bytes, n);
	b->size += n - 1;
}
