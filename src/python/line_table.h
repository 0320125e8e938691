/* SPDX-License-Identifier: MIT */
/* The line tables of code objects, in the three formats that CPython has had. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "python/layout.h"

/* The line of the instruction `offset` bytes into the code; 0: it has none. The table may be
 * damaged. */
uint32_t python_line_at(enum python_lines format, const uint8_t *table, size_t size,
	uint32_t first_line, uint64_t offset);
