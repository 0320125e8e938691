/* SPDX-License-Identifier: MIT */
/*
 * Binary search, as an expression: the first index from `begin` on, and before `end`, for which
 * `holds` is true; `end` where it is true for none. `holds` is an expression of the index, whose
 * name is the first argument. It must be false up to some index and true from there on, as in a
 * sorted array.
 *
 *	size_t first = search_first(i, 0, spans.count, spans.items[i].end_ns > time_ns);
 */
#pragma once

#include <stddef.h>

#define search_first(index, begin, end, holds)                                                     \
	__extension__({                                                                            \
		size_t search_low = (begin), search_high = (end);                                  \
                                                                                                   \
		while (search_low < search_high) {                                                 \
			size_t index = search_low + (search_high - search_low) / 2;                \
                                                                                                   \
			if (holds)                                                                 \
				search_high = index;                                               \
			else                                                                       \
				search_low = index + 1;                                            \
		}                                                                                  \
		search_low;                                                                        \
	})
