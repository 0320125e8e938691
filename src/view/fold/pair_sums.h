/* SPDX-License-Identifier: MIT */
/*
 * Adds up time by pairs of numbers: as gather.h, for keys of 8 bytes of which there are millions.
 * Owned by the caller.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct pair_sum {
	uint32_t first, second;
	uint64_t time_ns;
	uint64_t count : 63;
	uint64_t used : 1; /* of a slot */
};

struct pair_sums {
	struct pair_sum *slots;
	size_t used, mask;
};

void pair_sums_release(struct pair_sums *p);
/* For speed only: for a pair that is added soon. */
void pair_sums_prefetch(const struct pair_sums *p, uint32_t first, uint32_t second);
/* 0, -ENOMEM or -EOVERFLOW, with error_text. */
int pair_sums_add(struct pair_sums *p, struct pair_sum sum);
/* The n-th, in no particular order; NULL past the last. Start with *n = 0. */
const struct pair_sum *pair_sums_next(const struct pair_sums *p, size_t *n);
