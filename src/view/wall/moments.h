/* SPDX-License-Identifier: MIT */
/*
 * How much of each of many keys lies before any time, of amounts at moments and of time that goes
 * on for a while:
 *
 *	key 1    |=====|     |======|		time
 *	key 2        3     2       4		amounts
 *	before		       ^		key 1: its first stretch and two of the second, key 2: 5
 *
 * They are kept in the order in which they begin, in a few bytes each. Of a key is known how much
 * of it has begun; what of that goes on behind a time is listed, and comes off. So nothing is cut,
 * and all is exact. Every so often both are kept for all keys, and a look begins at the nearest of
 * these marks; there are fewer marks where there are many keys.
 *
 * Comes zeroed, and is owned by the caller. Keys are small numbers, from 0 on; each is either one
 * of amounts or one of times. Sums are modulo 2^64.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct moment {
	uint64_t begin_ns;
	uint64_t amount; /* of time: its length */
	uint32_t key;
	bool is_time;
};

/* Time that goes on. */
struct moment_going {
	uint64_t end_ns;
	uint32_t key;
};

struct moment_mark {
	uint64_t time_ns; /* the last moment before it began */
	size_t at;	  /* in the text */
	size_t first_sum, sum_count;
	size_t first_going, going_count;
};

struct moment_sums vec(uint64_t);
struct moment_goings vec(struct moment_going);

struct moments {
	struct vec(uint8_t) text;
	struct moment_sums sums; /* of all, by key */
	struct moment_goings going;
	struct vec(struct moment_mark) marks;
	struct moment_sums marked_sums;
	struct moment_goings marked_going;
	uint64_t last_ns;
	uint64_t every, since; /* moments from mark to mark, and since the last one */
	size_t going_max;      /* more are looked through */
};

void moments_release(struct moments *m);
/* One that does not begin before the one that was added last. 0 or -ENOMEM. */
int moments_add(struct moments *m, const struct moment *added);
/* About how much memory it takes. */
size_t moments_bytes(const struct moments *m);

/* A look at one time after the other; comes zeroed. */
struct moments_look {
	struct moment_sums sums;    /* by key: what lies before the time; missing: nothing */
	struct moment_goings going; /* what goes on then, and is not in the sums */
	uint64_t time_ns;
	uint64_t last_ns; /* the last moment that was taken in began */
	size_t at;
};

void moments_look_release(struct moments_look *l);
/* Goes on to a time, which is not before the last one. 0 or -ENOMEM. */
int moments_look_until(struct moments_look *l, const struct moments *m, uint64_t time_ns);
