/* SPDX-License-Identifier: MIT */
/* What fuzz targets share: a claim whose failure is a finding, and input taken byte by byte as
 * choices. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline void require(bool condition)
{
	if (!condition)
		__builtin_trap();
}

struct bytes {
	const uint8_t *data;
	size_t size;
};

/* The next byte, 0 when none is left; `below`: what it is to be less than; 0: nothing. */
static inline uint32_t take(struct bytes *b, uint32_t below)
{
	uint32_t value = b->size ? *b->data : 0;

	if (b->size) {
		b->data++;
		b->size--;
	}
	return below ? value % below : 0;
}
