/* SPDX-License-Identifier: MIT */
#pragma once

/* The square root, by Newton: there is no need for a library. 0 of what has none. */
static inline double root(double x)
{
	double r = x > 1 ? x : 1, next;

	if (!(x > 0))
		return 0;
	/* From above it comes down, until it is as near as numbers are. */
	while ((next = (r + x / r) / 2) < r)
		r = next;
	return r;
}
