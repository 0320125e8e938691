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

/* Fields of type uint64, uint32, int64 (not negative), bool or an enum. */
void protobuf_number(struct buf *b, uint32_t field, uint64_t value);
void protobuf_double(struct buf *b, uint32_t field, double value);
/* fixed64. */
void protobuf_fixed(struct buf *b, uint32_t field, uint64_t value);
/* Bytes, a string that is known to be UTF-8, or a message that was encoded elsewhere. */
void protobuf_bytes(struct buf *b, uint32_t field, const void *data, size_t size);
/* A string, made printable. */
void protobuf_printable(struct buf *b, uint32_t field, const char *text, size_t size);

/* A message; what is written in between is its fields. The mark is for protobuf_end. */
size_t protobuf_begin(struct buf *b, uint32_t field);
void protobuf_end(struct buf *b, size_t mark);

/* A number without a field, inside a message of packed ones. */
void protobuf_packed(struct buf *b, uint64_t value);
