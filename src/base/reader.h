/* SPDX-License-Identifier: MIT */
/*
 * A cursor in untrusted bytes. A read that would pass the end returns 0, moves to the end and sets
 * `failed`, so that a parser checks once, where it matters.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct reader {
	const uint8_t *at;
	const uint8_t *end;
	bool failed;
};

static inline size_t reader_left(const struct reader *r)
{
	return (size_t)(r->end - r->at);
}

static inline void reader_fail(struct reader *r)
{
	r->at = r->end;
	r->failed = true;
}

/* Takes `size` bytes: where they are, or NULL. */
static inline const uint8_t *reader_take(struct reader *r, uint64_t size)
{
	const uint8_t *taken = r->at;

	if (size > reader_left(r)) {
		reader_fail(r);
		return NULL;
	}
	r->at += size;
	return taken;
}

#define READER_FIXED(name, type)                                                                   \
	static inline type name(struct reader *r)                                                  \
	{                                                                                          \
		const uint8_t *bytes = reader_take(r, sizeof(type));                               \
		type value = 0;                                                                    \
                                                                                                   \
		if (bytes)                                                                         \
			memcpy(&value, bytes, sizeof(value));                                      \
		return value;                                                                      \
	}

READER_FIXED(reader_u8, uint8_t)
READER_FIXED(reader_u16, uint16_t)
READER_FIXED(reader_u32, uint32_t)
READER_FIXED(reader_u64, uint64_t)
READER_FIXED(reader_s16, int16_t)
READER_FIXED(reader_s32, int32_t)

/* LEB128; bits beyond the 64th are dropped. */
static inline uint64_t reader_leb(struct reader *r, bool is_signed)
{
	uint64_t value = 0;
	unsigned int shift = 0;
	uint8_t byte;

	do {
		byte = reader_u8(r);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	if (is_signed && shift < 64 && (byte & 0x40))
		value |= ~0ull << shift;
	return value;
}

static inline uint64_t reader_uleb(struct reader *r)
{
	return reader_leb(r, false);
}

static inline int64_t reader_sleb(struct reader *r)
{
	return (int64_t)reader_leb(r, true);
}
