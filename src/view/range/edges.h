/* SPDX-License-Identifier: MIT */
/*
 * For views that divide a time by the whole recording and show a part of it: how much of each of
 * many amounts lies before each edge of the spans (profile/clip.h).
 *
 *	amount       2     3      1      4        2
 *	spans           [-------------)     [------------------)
 *	at edge    0: 2 |  1: 3 + 1   | 2: 4|    3: 2           4: 0
 *
 * What is divided among parts by such an amount has, in a span, what it has by the amount until the
 * span's end less what it has by that until its begin. So spans that make up the whole add up to
 * what the whole has.
 *
 * Keys are the caller's. Functions return 0 or -ENOMEM with error_text.
 */
#pragma once

#include "base/map.h"
#include "profile/clip.h"

struct edges {
	const struct profile_clip *clip; /* NULL: nothing is kept */
	struct map *at;			 /* by how many edges are before it: key -> amount */
	size_t count;
};

int edges_init(struct edges *e, const struct profile_clip *clip);
void edges_release(struct edges *e);

/* Adds an amount that has so many edges before it. */
int edges_add(struct edges *e, uint64_t key, size_t edge, uint64_t amount);
/* Adds an amount at a time. */
int edges_add_at(struct edges *e, uint64_t key, uint64_t time_ns, uint64_t amount);
/* Adds the time from start_ns to end_ns, which counts `weight` times. */
int edges_add_time(
	struct edges *e, uint64_t key, uint64_t start_ns, uint64_t end_ns, double weight);
/* Adds an amount that is spread evenly. */
int edges_add_spread(
	struct edges *e, uint64_t key, uint64_t start_ns, uint64_t end_ns, uint64_t amount);

/* How much of a key's amount is in the spans. */
uint64_t edges_inside(const struct edges *e, uint64_t key);
/* What the spans have of `amount`, which is divided by the key's amounts, `whole` in all. */
uint64_t edges_share(const struct edges *e, uint64_t key, uint64_t whole, uint64_t amount);
/* Of each of `count` parts of the key's amount, instead of what they are: what the spans have. */
int edges_divide(const struct edges *e, uint64_t key, uint64_t *parts, size_t count);
