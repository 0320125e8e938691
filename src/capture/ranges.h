/* SPDX-License-Identifier: MIT */
/*
 * An allocator of ranges of an array that others read meanwhile: a range that is given back rests
 * for a while before it is allocated again, as a reader may just have looked it up.
 *
 * First fit: ranges are of similar sizes, and few are given back at a time.
 */
#pragma once

#include <stdint.h>

#include "base/clock.h"
#include "base/vec.h"

#define RANGES_REST_NS (2 * NS_PER_SECOND)

struct range {
	uint32_t first;
	uint32_t count;
};

struct resting_range {
	struct range range;
	uint64_t until_ns;
};

struct ranges {
	struct vec(struct range) free;		  /* by `first`, never adjacent */
	struct vec(struct resting_range) resting; /* in the order they were given back */
};

/* All of an array of `size`: 0 or -ENOMEM. */
int ranges_init(struct ranges *r, uint32_t size);
void ranges_release(struct ranges *r);
/* 0, -ENOSPC or -ENOMEM. A range of 0 needs no room. */
int ranges_allocate(struct ranges *r, uint32_t count, uint64_t now_ns, uint32_t *ret_first);
/* 0; -ENOMEM: the range is lost. */
int ranges_give_back(struct ranges *r, uint32_t first, uint32_t count, uint64_t now_ns);
