/* SPDX-License-Identifier: MIT */
/*
 * Which pieces of work have times, where a piece in so many is enough (library.times_one_in).
 *
 *	pieces  | 1 | 2 . | . . 4 . | . . . . . . 8 . | . one_in . . . . | . . . one_in . . | ...
 *
 * Those of one sort (a kernel, say) are divided into blocks, in the order in which they were asked
 * for, and of each block one is drawn at random: it stands for the block. Blocks grow to their full
 * length, so that the first piece has times in any case, and rare sorts have some. Nothing is kept
 * but how many there were, so that threads do not wait for each other.
 */
#pragma once

#include <stdint.h>

/* Same place, same number: anything will do that has nothing to do with the program. */
static inline uint64_t draws_random(uint64_t of)
{
	of = (of ^ of >> 30) * 0xbf58476d1ce4e5b9ull;
	of = (of ^ of >> 27) * 0x94d049bb133111ebull;
	return of ^ of >> 31;
}

/* The next piece of a sort, of which there were *count, 0 at first: how many it stands for, itself
 * included; 0: it was not drawn. */
static inline uint32_t draws_next(uint32_t *count, uint32_t one_in)
{
	uint32_t at = __atomic_fetch_add(count, 1, __ATOMIC_RELAXED), start = 0, size = 1;
	uint64_t seed;

	while (size < one_in && at - start >= size) {
		start += size;
		size = size < one_in / 2 ? size * 2 : one_in;
	}
	start += (at - start) / size * size;
	seed = (uint64_t)(uintptr_t)count + ((uint64_t)start + 1) * 0x9e3779b97f4a7c15ull;
	return at - start == draws_random(seed) % size ? size : 0;
}
