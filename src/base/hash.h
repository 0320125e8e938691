/* SPDX-License-Identifier: MIT */
/*
 * Hashing for in-memory tables. Not for files (it may change) and not against attackers who choose
 * keys to collide; tables fed by untrusted programs are bounded in size instead.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/bare/hash_step.h"

static inline uint64_t hash_u64(uint64_t x)
{
	x ^= x >> 32;
	x *= HASH_FACTOR;
	x ^= x >> 29;
	x *= 0xbf58476d1ce4e5b9ull;
	x ^= x >> 32;
	return x;
}

static inline uint64_t hash_combine(uint64_t seed, uint64_t x)
{
	return hash_u64(seed * HASH_FACTOR + x + 1);
}

/* Eight bytes a step; the tail is padded with zeros and the length is part of the hash. */
static inline uint64_t hash_bytes(const void *data, size_t size)
{
	const unsigned char *p = data;
	uint64_t h = size * 0xff51afd7ed558ccdull + 1, word;

	for (; size >= 8; p += 8, size -= 8) {
		memcpy(&word, p, 8);
		h = hash_step(h, word);
		h ^= h >> 29;
	}
	if (size) {
		word = 0;
		memcpy(&word, p, size);
		h = hash_step(h, word);
	}
	return hash_u64(h);
}
