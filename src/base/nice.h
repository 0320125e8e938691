/* SPDX-License-Identifier: MIT */
/* Lengths that people like on scales: 1, 2 or 5 times a power of ten. */
#pragma once

#include <stdint.h>

#define NICE_MAX 5000000000000000000ull

/* The least of them that is at least so much. */
static inline uint64_t nice_above(uint64_t least)
{
	uint64_t power = 1;

	while (power < 1000000000000000000ull && 10 * power <= least)
		power *= 10;
	return power >= least			? power
	       : 2 * power >= least		? 2 * power
	       : 5 * power >= least		? 5 * power
	       : power < 1000000000000000000ull ? 10 * power
						: NICE_MAX;
}

/* By how much such a length can be made longer at the least, so that it is one again. */
static inline uint64_t nice_factor(uint64_t length)
{
	while (length >= 10)
		length /= 10;
	return length == 2 ? 5 : 2;
}
