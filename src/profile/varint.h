/* SPDX-License-Identifier: MIT */
/*
 * Numbers in as few bytes as they need: seven bits a byte, lowest first, the top bit set in all but
 * the last byte. Signed numbers and differences go through zigzag, which folds small negative ones
 * to small positive ones (0, -1, 1, -2 ... become 0, 1, 2, 3 ...).
 */
#pragma once

#include <endian.h>
#include <stdint.h>
#include <string.h>

#define VARINT_MAX_BYTES 10

static inline uint64_t zigzag(int64_t x)
{
	return (uint64_t)x << 1 ^ (uint64_t)(x >> 63);
}

static inline int64_t unzigzag(uint64_t x)
{
	return (int64_t)(x >> 1 ^ -(x & 1));
}

/* Writes at most VARINT_MAX_BYTES; returns a pointer behind them. */
static inline uint8_t *varint_put(uint8_t *p, uint64_t x)
{
	while (x >= 0x80) {
		*p++ = (uint8_t)(x | 0x80);
		x >>= 7;
	}
	*p++ = (uint8_t)x;
	return p;
}

/* Five bytes and more; bits beyond the 64th are dropped. */
static inline uint64_t varint_get_long(const uint8_t **p)
{
	uint64_t x = 0, byte;

	for (unsigned int shift = 0; shift < 70; shift += 7) {
		byte = *(*p)++;
		x |= (byte & 0x7f) << shift;
		if (byte < 0x80)
			break;
	}
	return x;
}

/*
 * Reads at most VARINT_MAX_BYTES without looking where the data end: the caller sees to it that as
 * many bytes can be read, and checks afterwards where *p has come to. Up to four bytes are read
 * at once, by closing the gaps between the groups of seven bits, as lengths are hard to predict for
 * a processor; longer numbers are few.
 */
static inline uint64_t varint_get(const uint8_t **p)
{
	uint32_t word, ends;

	if (**p < 0x80)
		return *(*p)++;
	memcpy(&word, *p, 4);
	word = le32toh(word);
	ends = ~word & 0x80808080u;
	if (!ends)
		return varint_get_long(p);
	*p += ((unsigned int)__builtin_ctz(ends) + 1) / 8;
	word &= ends ^ (ends - 1); /* nothing behind the last byte */
	word = (word & 0x007f007fu) | (word & 0x7f007f00u) >> 1;
	return (word & 0x00003fffu) | (word & 0x3fff0000u) >> 2;
}
