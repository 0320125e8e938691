/* SPDX-License-Identifier: MIT */
/*
 * How many ranges of a thread lie in one another, as they come: by their ends.
 *
 *	a  |==============================|	came last: 3
 *	b    |=========|  |=====|  |===|
 *	c      |==| |=|				came first
 *
 * Of what came, only those matter that are higher than all that began later: there are as many of
 * these as ranges lie in one another, NESTING_MAX at most. What only overlaps does not count, nor
 * what comes out of order. Comes zeroed, and is owned by the caller.
 */
#pragma once

#include <stdint.h>

#include "base/vec.h"

#define NESTING_MAX 64

struct nesting_open {
	uint64_t begin_ns;
	uint32_t height;
};

struct nesting {
	struct vec(struct nesting_open) highest; /* lower and lower, later and later */
};

void nesting_release(struct nesting *n);
/* The next one; *depth grows where it has to. 0, or -ENOMEM with error_text. */
int nesting_add(struct nesting *n, uint64_t begin_ns, uint32_t *depth);
