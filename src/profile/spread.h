/* SPDX-License-Identifier: MIT */
/*
 * A sum over works of which not all have times, and how far it may be off. Where they were
 * recorded in bursts, from how much the parts of the bursts of one instance differ.
 *
 *	x_k       what all of burst k stands for, of the n bursts of an instance
 *	m_k       what it would be, were there as much at any time: in proportion to its period
 *	variance  n / (n - 1) * sum of (x_k - m_k)^2 * (1 - recorded part of the time)
 *	error     the root of the sum of these, over all instances
 *
 * That is one standard error, were the bursts drawn from all of the instance's time. They are drawn
 * one from each period, so it is too large rather than too small where a program changes slowly.
 * What was recorded is no guess: hence the last factor, exact for works that do not depend on each
 * other. Instances with a single burst count together, as if they were one.
 *
 * Parts may come in any order, as long as an instance has no more than SPREAD_RECENT bursts under
 * way at once. Of a burst that is forgotten too early the pieces count as bursts of their own. The
 * sum is right all the same; its error is too small, by a factor of sqrt(pieces) at most.
 *
 * Works that were drawn (profile_work.stands_for) are such parts, too, each by itself. What is
 * compared with each other are those of one sort, as they are drawn (inject/draws.h), and instead
 * of the time of a period it is the number of works in a block that counts. Sorts with a single
 * draw count together. Of the last block of a sort nobody knows how long it was:
 *
 *	variance += (sum / number of works * length of the block)^2 / 6
 */
#pragma once

#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"
#include "profile/bursts.h"

#define SPREAD_RECENT 4

struct spread_part {
	uint32_t burst; /* 0: none */
	double value;
};

struct spread_stratum {
	uint32_t number;			  /* see bursts.h */
	struct spread_part recent[SPREAD_RECENT]; /* the latest first */
	double sum;				  /* of all bursts */
	double squares;				  /* of the parts that are in `recent` no more */
	double products;			  /* of each part and the time that it is of */
};

/* What was drawn of one sort. */
struct spread_draws {
	uint64_t sort;
	double count, of, of_squares; /* how many; what each stands for */
	double longest;		      /* of these */
	double sum, squares;
	double products; /* of each value and what it stands for */
};

/* Comes zeroed. */
struct spread {
	struct vec(struct spread_stratum) strata; /* where there is anything */
	size_t latest;				  /* of these */
	struct map draw_index;			  /* sort -> place in these */
	struct vec(struct spread_draws) draws;
	double sum;
};

/* What is 95 % certain to hold the true sum: two standard errors to both sides. */
struct spread_range {
	uint64_t low;
	uint64_t high; /* SPREAD_NOT_KNOWN: there are too few bursts to tell */
};

#define SPREAD_NOT_KNOWN UINT64_MAX

void spread_release(struct spread *s);
/* A part of what burst number `burst` stands for; 0: it was recorded in no burst, but with all of
 * its instance. 0 or -ENOMEM. */
int spread_add(struct spread *s, const struct bursts *bursts, uint32_t burst, double value);
/* All that a work stands for which was drawn of its sort (profile_sort). 0 or -ENOMEM. */
int spread_add_draw(struct spread *s, uint64_t sort, double stands_for, double value);
/* Never less than `seen`, which was recorded. `whole` has all draws of each sort, `s` some of them;
 * NULL: `s` has all. */
struct spread_range spread_range(const struct spread *s, const struct bursts *bursts,
	const struct spread *whole, uint64_t seen);
