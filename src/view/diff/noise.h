/* SPDX-License-Identifier: MIT */
/*
 * Which of many differences are more than chance.
 *
 * Each side has amounts of many items in DIFF_SLICES stretches of time. If these stretches had been
 * others of the same kind, each amount would be another: drawing as many of them at random, again
 * and again, shows how far (the bootstrap). One difference of a thousand is large by chance alone,
 * so what is compared with each difference is the largest of all, each in units of its own spread,
 * in nearly all of the draws. Beside that a difference must be DIFF_LEAST of the whole, and
 * DIFF_LEAST_PART of the larger side: no two runs are alike to a percent, however steady each is.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "view/diff/slices.h"

#define DIFF_LEAST	0.005
#define DIFF_LEAST_PART 0.03

/* How amounts become shares that can be compared. */
enum diff_scale {
	DIFF_BY_ELAPSED = 0, /* of the elapsed time */
	DIFF_BY_TOTAL,	     /* of all that is shown */
	DIFF_NOT,	     /* they are compared as they are */
};

struct diff_amounts {
	const float *slices[DIFF_SLICES]; /* by item */
	const double *whole;		  /* so too */
	uint64_t slice_ns[DIFF_SLICES];
	uint64_t elapsed_ns;
	double total, slice_total[DIFF_SLICES];
};

struct diff_verdict {
	double before, after; /* shares, or amounts where they are compared as they are */
	double spread;	      /* the standard error of their difference */
	bool real;
};

/* `ret` is by item: 0 or -ENOMEM with error_text. Equal input has equal results. */
int diff_judge(const struct diff_amounts sides[2], size_t count, enum diff_scale scale,
	struct diff_verdict *ret);
