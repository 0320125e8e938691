/* SPDX-License-Identifier: MIT */
/*
 * What the files that run line programs share: line_header.c reads the header of a program,
 * line_program.c runs its instructions, line_table.c uses the rows.
 */
#pragma once

#include <string.h>

#include "gpucode/line_table.h"

/* Bytes that are read from front to back; `bad` once there were too few. */
struct line_cursor {
	const uint8_t *at, *end;
	bool bad;
};

static inline const uint8_t *read_bytes(struct line_cursor *r, uint64_t size)
{
	const uint8_t *at = r->at;

	if (size > (uint64_t)(r->end - r->at)) {
		r->bad = true;
		r->at = r->end;
		return NULL;
	}
	r->at += size;
	return at;
}

static inline uint64_t read_number(struct line_cursor *r, size_t size)
{
	const uint8_t *bytes = read_bytes(r, size);
	uint64_t value = 0;

	if (bytes)
		memcpy(&value, bytes, size);
	return value;
}

static inline uint8_t read_byte(struct line_cursor *r)
{
	return (uint8_t)read_number(r, 1);
}

/* Some producers fill numbers up, to a few bytes. Without a bound one that is read again and again
 * could be as long as its section. */
#define LEB_BYTES_MAX 16

/* The bits of a LEB128 number, not sign-extended: *ret_bits is how many it has. */
static inline uint64_t read_leb(struct line_cursor *r, unsigned int *ret_bits, uint8_t *ret_last)
{
	uint64_t value = 0;
	uint8_t byte;
	unsigned int shift = 0;

	do {
		byte = read_byte(r);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80 && shift < 7 * LEB_BYTES_MAX);
	r->bad |= (byte & 0x80) != 0;
	*ret_bits = shift;
	*ret_last = byte;
	return value;
}

static inline uint64_t read_uleb(struct line_cursor *r)
{
	unsigned int bits;
	uint8_t last;

	return read_leb(r, &bits, &last);
}

static inline int64_t read_sleb(struct line_cursor *r)
{
	unsigned int bits;
	uint8_t last;
	uint64_t value = read_leb(r, &bits, &last);

	if (last & 0x40 && bits < 64)
		value |= ~0ull << bits;
	return (int64_t)value;
}

/* Never NULL. */
static inline const char *read_text(struct line_cursor *r)
{
	const uint8_t *nul = memchr(r->at, 0, (size_t)(r->end - r->at));
	const char *text = (const char *)r->at;

	if (!nul) {
		r->bad = true;
		r->at = r->end;
		return "";
	}
	r->at = nul + 1;
	return text;
}

struct line_relocation {
	uint64_t offset;
	uint64_t symbol;
	uint64_t addend;
	bool explicit_addend;
};

/* A program whose rows have names that are not resolved yet. */
struct line_naming {
	uint32_t program;    /* counted from 0 */
	uint32_t first, end; /* rows */
	uint64_t base;
	uint32_t last; /* the greatest offset that it names */
};

struct line_machine;

/* What a vendor's line programs have beside DWARF's. Functions may be NULL. */
struct line_dialect {
	/* Runs an extended instruction that is not DWARF's. */
	void (*extended)(struct line_machine *m, uint8_t opcode, struct line_cursor *operands);
	/* All programs have run: the names of rows are to be offsets in .debug_str. */
	void (*finish)(struct line_machine *m);
	/* Where the symbol of a relocation is; NULL: code_elf_position. */
	bool (*position)(const struct line_machine *m, uint64_t symbol, uint32_t *ret_section,
		uint64_t *ret_offset);
};

struct line_machine {
	struct line_table *t;
	const struct code_elf *elf;
	const struct line_dialect *dialect;
	const void *owner; /* line_programs.owner */
	struct interner *paths;
	size_t paths_room; /* for this many more bytes of paths */
	struct code_bytes section;
	struct code_bytes strings, line_strings; /* .debug_str, .debug_line_str */
	struct vec(struct line_relocation) relocations;
	struct vec(struct line_naming) names;
	uint32_t only_code; /* the one section of code, or 0 */
	int error;	    /* -ENOMEM */

	/* Of the present program. */
	uint32_t program;
	bool wide; /* 64-bit DWARF */
	uint16_t version;
	uint8_t min_step;
	int8_t line_base;
	uint8_t line_range;
	uint8_t opcode_base;
	const uint8_t *operands; /* how many each standard opcode has */
	uint64_t names_base;	 /* what may follow the tables of a header, for a dialect */
	struct vec(const char *) folders;
	struct vec(uint32_t) files;

	/* Of the present sequence. */
	uint32_t code; /* section; 0: not known where */
	uint64_t address;
	uint64_t file;
	uint64_t line;
	uint32_t context;
	uint32_t function;
	uint32_t first;
};

/* Reads the relocations of the section that the programs are in. */
void line_relocations_read(struct line_machine *m, size_t section);
/* The position that a linker would store at `at`: true when a relocation gives one. */
bool line_relocate(struct line_machine *m, const uint8_t *at, uint64_t stored,
	uint32_t *ret_section, uint64_t *ret_offset);
/* Reads the header of a program and leaves `r` at the instructions; false: it makes no sense. */
bool line_header_read(struct line_machine *m, struct line_cursor *r);
/* Reads the rest of a file's entry, behind its name, and adds it to the program's. */
void line_file_read(struct line_machine *m, struct line_cursor *r, const char *name);
/* Runs all programs of the section; an error is in m->error. */
void line_programs_run(struct line_machine *m);
