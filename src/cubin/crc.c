// SPDX-License-Identifier: MIT
/*
 * Found out by asking libcupti 13.0 about images that differ in one byte, and compared with it on
 * all sizes up to 69,999 and around powers of two up to 2^27: FNV-1a of 32 bits over the size, as 8
 * bytes, and then over bytes that stand evenly spread in the image, two for each bit of its size.
 */
#include "cubin/cubin.h"

#define FNV_BASIS 0x811c9dc5u
#define FNV_PRIME 0x01000193u

static uint32_t add_byte(uint32_t hash, uint8_t byte)
{
	return (hash ^ byte) * FNV_PRIME;
}

uint32_t cubin_cupti_crc(const void *image, size_t size)
{
	const uint8_t *bytes = image;
	uint64_t bits = size > 1 ? 64 - (uint64_t)__builtin_clzll(size - 1) : 0;
	uint32_t hash = FNV_BASIS;

	for (int i = 0; i < 8; i++)
		hash = add_byte(hash, (uint8_t)((uint64_t)size >> 8 * i));
	for (uint64_t i = 0; i < 2 * bits; i++)
		hash = add_byte(hash, bytes[i * size / (2 * bits)]);
	return hash;
}
