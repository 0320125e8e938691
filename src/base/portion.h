/* SPDX-License-Identifier: MIT */
/*
 * Divides the first units of a whole among its parts, so that each has nearly its share of them,
 * however many they are:
 *
 *	parts 3 and 1, the first 0, 1, 2, 3, 4 units of 4: {0, 0} {1, 0} {2, 0} {3, 0} {3, 1}
 *
 * More units never leave a part with less, the shares of the first n units add up to n, and those
 * of the whole are the parts. So any stretch of units has a share for each part that adds up, over
 * the parts and over stretches. It is the divisor method of d'Hondt, which has these properties.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* `parts` add up to `whole`; first <= whole. 0 or -ENOMEM. */
int portion_first(
	const uint64_t *parts, size_t count, uint64_t whole, uint64_t first, uint64_t *ret);
