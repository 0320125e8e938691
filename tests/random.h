/* SPDX-License-Identifier: MIT */
/* Numbers that look random, the same in every run (xorshift64). */
#pragma once

#include <stdint.h>

#define RANDOM_SEED 88172645463325252ull

static uint64_t random_state = RANDOM_SEED;

static inline uint64_t random_u64(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

/* By the upper half, which is the better one. */
static inline uint32_t random_below(uint32_t limit)
{
	return (uint32_t)((random_u64() >> 32) * limit >> 32);
}
