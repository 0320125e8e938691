/* SPDX-License-Identifier: MIT */
/*
 * Which words of the shared space are free: ranges by address, first fit, neighbours joined. It
 * knows neither chunks nor memory. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

struct space_range {
	uint32_t at;
	uint32_t words;
};

struct space {
	struct vec(struct space_range) free; /* by address, never adjacent */
};

void space_release(struct space *s);
/* Makes a range free: one that was allocated, or a new one. It must not overlap what is free. 0 or
 * -ENOMEM. */
int space_give(struct space *s, uint32_t at, uint32_t words);
/* Allocates the first `words` that are free in a row; false: there are none. */
bool space_alloc(struct space *s, uint32_t words, uint32_t *ret_at);
