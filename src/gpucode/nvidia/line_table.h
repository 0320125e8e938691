/* SPDX-License-Identifier: MIT */
/*
 * A section of DWARF line programs (.debug_line, .nv_debug_line_sass), run: which source line each
 * range of code is from, with NVIDIA's extension for calls that were inlined.
 *
 * Rows stay in the order in which their program made them, since a row names the row of the call
 * that it was inlined at by its number. They belong to sequences, each over a range of one section.
 */
#pragma once

#include "base/intern.h"
#include "gpucode/nvidia/cubin_internal.h"

#define LINE_NO_NAME UINT32_MAX

struct line_row {
	uint32_t offset; /* in the section of its sequence; valid up to the next row's */
	uint32_t path;	 /* interned; 0: not known */
	uint32_t line;	 /* 0: not known */
	uint32_t
		context; /* the number of the calling row in its sequence, from 1; 0: not inlined */
	uint32_t function; /* name, in .debug_str; LINE_NO_NAME: not given, or not known */
};

struct line_sequence {
	uint32_t section;
	uint32_t start, end; /* offsets in it */
	uint32_t first;	     /* row */
	uint32_t count;
};

struct line_table {
	struct vec(struct line_row) rows;
	struct vec(struct line_sequence) sequences; /* by section and start */
	struct vec(uint32_t)
		ends; /* by section: how many sequences there are up to and with its own */
};

/* Runs the programs of the first section of this name; without one the table is empty. What makes
 * no sense is counted in the cubin's damage. 0 or -ENOMEM, after which the table is good for
 * release. */
int line_table_init(
	struct line_table *t, struct cubin *c, const char *section, struct interner *paths);
void line_table_release(struct line_table *t);

/* The row for a position in the code, and its sequence; NULL: none. */
const struct line_row *line_table_find(const struct line_table *t, uint32_t section,
	uint64_t offset, const struct line_sequence **ret_sequence);
