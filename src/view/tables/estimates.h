/* SPDX-License-Identifier: MIT */
/*
 * Sums of what was recorded in bursts, or drawn, by what they are of: times, numbers and bytes, and
 * how far the first two may be off (profile/spread.h). Memory is for each key and instance that has
 * it.
 */
#pragma once

#include "base/map.h"
#include "profile/reader.h"
#include "profile/spread.h"

enum estimate_of {
	ESTIMATE_WORK, /* key 0: all of it */
	ESTIMATE_KERNEL,
	ESTIMATE_COPY,
	ESTIMATE_SET,
	ESTIMATE_CALLS,
	ESTIMATE_DEVICE,
	ESTIMATE_PROCESS,
	ESTIMATE_THREAD,
};

struct estimate {
	struct spread time, count;
	double others;		      /* bytes, or calls that failed */
	uint64_t seen_ns, seen_count; /* as it is in the file */
};

/* What is added: one work, or one call. */
struct estimate_part {
	uint32_t burst;
	double weight;
	uint64_t sort; /* of a work that was drawn (profile_sort); else 0 */
	uint64_t duration_ns, others;
	bool continued; /* it is a piece, and counted with another one */
};

struct estimates {
	const struct bursts *bursts;
	struct map index; /* key << 3 | estimate_of -> row */
	struct vec(struct estimate) rows;
};

/* With `bursts`, which must outlive it; the rest comes zeroed. */
void estimates_release(struct estimates *e);
/* Keys are less than 2^61. 0 or -ENOMEM. */
int estimates_add(
	struct estimates *e, enum estimate_of of, uint64_t key, const struct estimate_part *part);
/* NULL: there is none of the key. */
const struct estimate *estimates_find(const struct estimates *e, enum estimate_of of, uint64_t key);
struct spread_range estimate_time(const struct estimates *e, const struct estimate *of);
struct spread_range estimate_count(const struct estimates *e, const struct estimate *of);
