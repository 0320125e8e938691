/* SPDX-License-Identifier: MIT */
/*
 * One step of every hash, also in the kernel and in the profiled program: 2^64 divided by the
 * golden ratio. The upper bits of a product depend on all bits of the word, the lower ones on few.
 * So an index is made by shifting right, and further hashing folds the upper bits down.
 *
 * The number is part of what library and recorder agree on, and of unwind tables on disk.
 */
#pragma once

#include "base/bare/integers.h"

#define HASH_FACTOR 0x9e3779b97f4a7c15ull

static inline uint64_t hash_step(uint64_t hash, uint64_t word)
{
	return (hash ^ word) * HASH_FACTOR;
}
