/* SPDX-License-Identifier: MIT */
/*
 * The line tables of code objects, in the three formats that CPython has had. They may be damaged,
 * and a megabyte long; a look-up reads some hundred bytes of them at most.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "python/layout.h"

/* How far reading has come. */
struct python_line_mark {
	uint64_t end; /* of the code that entries before were about, in bytes */
	int64_t line;
	uint32_t at; /* in the table */
};

struct python_line_table {
	enum python_lines format;
	uint32_t first_line;
	uint32_t size;
	uint8_t *bytes;
	struct vec(struct python_line_mark) marks;
};

/* Copies `bytes`: 0 or -ENOMEM. */
int python_line_table_init(struct python_line_table *t, enum python_lines format,
	uint32_t first_line, const void *bytes, uint32_t size);
void python_line_table_release(struct python_line_table *t);
/* What it keeps in memory. */
size_t python_line_table_bytes(const struct python_line_table *t);
/* The line of the instruction `offset` bytes into the code; 0: it has none. */
uint32_t python_line_at(const struct python_line_table *t, uint64_t offset);
