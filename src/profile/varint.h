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

/* Writes at most VARINT_MAX_BYTES; returns the place behind them. */
static inline uint8_t *varint_put(uint8_t *p, uint64_t x)
{
	while (x >= 0x80) {
		*p++ = (uint8_t)(x | 0x80);
		x >>= 7;
	}
	*p++ = (uint8_t)x;
	return p;
}

/* Nine and ten bytes; bits beyond the 64th are dropped. */
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
 * many bytes can be read, and checks afterwards where *p has come to. Up to eight bytes are taken
 * at once, by closing the gaps between the groups of seven bits, as lengths are hard to predict for
 * a processor.
 */
static inline uint64_t varint_get(const uint8_t **p)
{
	uint64_t word, ends;
	unsigned int bytes;

	if (**p < 0x80)
		return *(*p)++;
	memcpy(&word, *p, 8);
	word = le64toh(word);
	ends = ~word & 0x8080808080808080ull;
	if (!ends)
		return varint_get_long(p);
	bytes = ((unsigned int)__builtin_ctzll(ends) + 1) / 8;
	*p += bytes;
	word &= ~0ull >> (64 - 8 * bytes);
	word = (word & 0x007f007f007f007full) | (word & 0x7f007f007f007f00ull) >> 1;
	word = (word & 0x00003fff00003fffull) | (word & 0x3fff00003fff0000ull) >> 2;
	return (word & 0x000000000fffffffull) | (word & 0x0fffffff00000000ull) >> 4;
}
