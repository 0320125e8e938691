/* SPDX-License-Identifier: MIT */
#pragma once

#include <string.h>
#include <sys/types.h>

#include "base/map.h"
#include "base/vec.h"

/* The row with this key, new when there was none; -1 when memory is short. The table must hold less
 * than 2^63 rows. */
#define row_for(index, key, rows)                                                                  \
	({                                                                                         \
		const uint64_t *known_ = map_get((index), (key));                                  \
		ssize_t at_ = known_ ? (ssize_t)*known_ : (ssize_t)(rows)->count;                  \
		if (!known_ && (vec_reserve((rows), 1) || map_put((index), (key), (uint64_t)at_))) \
			at_ = -1;                                                                  \
		else if (!known_)                                                                  \
			memset(&(rows)->items[(rows)->count++], 0, sizeof(*(rows)->items));        \
		at_;                                                                               \
	})
