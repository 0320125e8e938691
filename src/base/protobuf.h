/* SPDX-License-Identifier: MIT */
/*
 * Messages of Protocol Buffers, field by field, appended to a buffer. Only written, never read.
 *
 *	size_t mark = protobuf_begin(&b, 2);	a message in field 2
 *	protobuf_number(&b, 1, 150);
 *	protobuf_printable(&b, 2, name, size);
 *	protobuf_end(&b, mark);
 *
 * As with all of buf.h, short memory is found out once at the end. Fields of a message may come in
 * any order, and a field that is repeated as often as it has values. Fields with the value 0 are
 * written as well: callers leave out what is not known.
 *
 * Format: protobuf.dev/programming-guides/encoding.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* Wire types: what stands behind a field's number. */
enum { PROTOBUF_VARINT = 0, PROTOBUF_FIXED64 = 1, PROTOBUF_SIZED = 2 };

#define PROTOBUF_VARINT_MAX 10 /* bytes */

/* Writes a number without a field; returns a pointer behind it. */
static inline uint8_t *protobuf_put(uint8_t *p, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		*p++ = (uint8_t)(value | 0x80);
	*p++ = (uint8_t)value;
	return p;
}

static inline uint8_t *protobuf_put_tag(uint8_t *p, uint32_t field, unsigned int type)
{
	return protobuf_put(p, (uint64_t)field << 3 | type);
}

/* Fields of type uint64, uint32, int64 (not negative), bool or an enum. */
static inline void protobuf_number(struct buf *b, uint32_t field, uint64_t value)
{
	uint8_t *p;

	if (!buf_reserve(b, 2 * PROTOBUF_VARINT_MAX))
		return;
	p = protobuf_put_tag((uint8_t *)b->data + b->size, field, PROTOBUF_VARINT);
	b->size = (size_t)(protobuf_put(p, value) - (uint8_t *)b->data);
}

void protobuf_double(struct buf *b, uint32_t field, double value);
/* fixed64. */
void protobuf_fixed(struct buf *b, uint32_t field, uint64_t value);
/* Bytes, a string that is known to be UTF-8, or a message that was encoded elsewhere. */
void protobuf_bytes(struct buf *b, uint32_t field, const void *data, size_t size);
/* A string, made printable. */
void protobuf_printable(struct buf *b, uint32_t field, const char *text, size_t size);

/* A message; what is written in between is its fields. The mark is for protobuf_end. */
static inline size_t protobuf_begin(struct buf *b, uint32_t field)
{
	uint8_t *p;

	if (!buf_reserve(b, PROTOBUF_VARINT_MAX + 1))
		return b->size;
	p = protobuf_put_tag((uint8_t *)b->data + b->size, field, PROTOBUF_SIZED);
	*p++ = 0; /* its size, for now */
	b->size = (size_t)(p - (uint8_t *)b->data);
	return b->size;
}

/* What protobuf_end does where the size needs more than one byte. */
void protobuf_end_long(struct buf *b, size_t mark);
static inline void protobuf_end(struct buf *b, size_t mark)
{
	size_t size = b->size - mark;

	if (size >= 0x80 || b->failed)
		protobuf_end_long(b, mark);
	else
		b->data[mark - 1] = (char)size;
}

/* A number without a field, inside a message of packed ones. */
static inline void protobuf_packed(struct buf *b, uint64_t value)
{
	uint8_t *end;

	if (!buf_reserve(b, PROTOBUF_VARINT_MAX))
		return;
	end = protobuf_put((uint8_t *)b->data + b->size, value);
	b->size = (size_t)(end - (uint8_t *)b->data);
}
