/* SPDX-License-Identifier: MIT */
/*
 * A section of DWARF line programs (.debug_line), run: which source line each range of code is
 * from. What a vendor's compilers write beside DWARF's instructions is a dialect: a struct
 * line_dialect (line_program.h), in the vendor's folder.
 *
 * Rows stay in the order in which their program made them, since a dialect may have a row name the
 * row of the call that it was inlined at by its number. They belong to sequences, each over a range
 * of one section.
 */
#pragma once

#include "base/intern.h"
#include "base/vec.h"
#include "gpucode/code_elf.h"

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

/* What was passed over. */
struct line_damage {
	size_t programs; /* that make no sense somewhere; what is before is used */
	size_t rows;	 /* that are for no code, or inlined at a row that is not there */
};

struct line_dialect;

struct line_table {
	struct line_damage damage;
	struct vec(struct line_row) rows;
	struct vec(struct line_sequence) sequences; /* by section and start */
	struct vec(uint32_t)
		ends; /* by section: how many sequences there are up to and with its own */
};

/* Whose programs they are. */
struct line_programs {
	const struct code_elf *elf;
	const struct line_dialect *dialect;
	const void *owner;	/* whose image it is, for the dialect */
	struct interner *paths; /* gets the paths of files */
	/* the one section of code, which sequences without a relocation are for; 0: there are
	 * several */
	uint32_t only_code;
};

/* Runs the programs of the first section of this name; without one the table is empty. What makes
 * no sense is counted as damage. 0 or -ENOMEM, after which the table is good for release. */
int line_table_init(struct line_table *t, const struct line_programs *of, const char *section);
void line_table_release(struct line_table *t);

/* The row for a position in the code, and its sequence; NULL: none. */
const struct line_row *line_table_find(const struct line_table *t, uint32_t section,
	uint64_t offset, const struct line_sequence **ret_sequence);
