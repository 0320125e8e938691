/* SPDX-License-Identifier: MIT */
/*
 * Parts of the time of waits, added up by row (of wait_sums), thread, what the thread did, and
 * where. They are the threads that ended the waits, or what threads did meanwhile.
 */
#pragma once

#include <stdint.h>

#include "base/intern.h"
#include "base/vec.h"

struct wait_share {
	uint32_t row; /* its number */
	/* 0: nobody. Where threads of one name are put together: the name's id + 1, */
	uint32_t thread;
	uint32_t one, threads; /* one of them, and how many they are */
	/* enum profile_wait_reason: it waited, too; 0: it ran, or this is not asked */
	uint32_t reason;
	uint32_t stack; /* 0: not known, or not asked */
	uint64_t count, total_ns;
};

struct wait_shares {
	struct vec(struct wait_share) items;
	struct interner *ids; /* of items, while some are added */
};

/* The shares of one row: the most time first. */
struct wait_range {
	const struct wait_share *items;
	size_t count;
};

/* It comes zeroed. Adds to the share of the same row, thread, reason and stack: 0 or -ENOMEM. */
int wait_shares_add(struct wait_shares *s, const struct wait_share *share);
/* After the last: brings them into order. */
void wait_shares_finish(struct wait_shares *s);
struct wait_range wait_shares_of(const struct wait_shares *s, uint32_t row);
void wait_shares_release(struct wait_shares *s);
