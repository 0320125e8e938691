/* SPDX-License-Identifier: MIT */
/*
 * Entries of .debug_info, DWARF 4 and 5, of a linked image: one after the other, each with its
 * attributes. Only what src/gpucode/inline_calls.c asks for.
 *
 * Nothing of an image is trusted. What is read, byte by byte and as often as it is, and what is
 * kept of it, is taken from a stock that is in proportion to the sizes of the sections; a unit that
 * has used it up, or makes no sense, ends there and is counted as damaged.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/intern.h"
#include "gpucode/code_elf.h"

enum {
	DW_AT_name = 0x03,
	DW_AT_stmt_list = 0x10,
	DW_AT_low_pc = 0x11,
	DW_AT_high_pc = 0x12,
	DW_AT_abstract_origin = 0x31,
	DW_AT_specification = 0x47,
	DW_AT_ranges = 0x55,
	DW_AT_call_file = 0x58,
	DW_AT_call_line = 0x59,
	DW_AT_linkage_name = 0x6e,
	DW_AT_str_offsets_base = 0x72,
	DW_AT_addr_base = 0x73,
	DW_AT_rnglists_base = 0x74,
	DW_AT_MIPS_linkage_name = 0x2007,
};

struct dwarf_units;
struct dwarf_unit;

struct dwarf_value {
	uint64_t form;	  /* DW_FORM_...; 0: there is no such attribute */
	uint64_t number;  /* of a reference to another entry: its place in the section */
	const char *text; /* of a text that is written out; else NULL */
};

/* Lists the units; without .debug_info there are none. Paths of files are interned in `paths`. 0 or
 * -ENOMEM, and then *ret may be there all the same. */
int dwarf_units_new(const struct code_elf *elf, struct interner *paths, struct dwarf_units **ret);
void dwarf_units_free(struct dwarf_units *d);
size_t dwarf_unit_count(const struct dwarf_units *d);
struct dwarf_unit *dwarf_unit_at(struct dwarf_units *d, size_t n);
/* Of the calls below, since the begin: -ENOMEM, and how many units are damaged. */
int dwarf_error(const struct dwarf_units *d);
size_t dwarf_damage(const struct dwarf_units *d);

/* To the begin of the unit. */
void dwarf_rewind(struct dwarf_units *d, struct dwarf_unit *u);
/* The next entry: its tag, 0 for the end of those inside another; whether it has others inside.
 * Its attributes must be read before the next one. False at the end. */
bool dwarf_next(struct dwarf_units *d, struct dwarf_unit *u, uint64_t *ret_tag, bool *ret_inside);

typedef void dwarf_visit(void *context, uint64_t attribute, const struct dwarf_value *v);

/* Of the entry that dwarf_next found; `visit` may be NULL. False: the unit ends here. */
bool dwarf_attributes(
	struct dwarf_units *d, struct dwarf_unit *u, dwarf_visit *visit, void *context);
/* Of the entry at this place in the section. False: there is none. */
bool dwarf_entry_at(struct dwarf_units *d, struct dwarf_unit *u, uint64_t place, dwarf_visit *visit,
	void *context);
/* The unit that an attribute refers to; NULL: none. */
struct dwarf_unit *dwarf_unit_of(
	struct dwarf_units *d, const struct dwarf_unit *u, const struct dwarf_value *reference);

/* NULL: it is no text, or not there. */
const char *dwarf_text(
	const struct dwarf_units *d, const struct dwarf_unit *u, const struct dwarf_value *v);
/* An interned path, of the number of a file; 0: not known. */
uint32_t dwarf_path(struct dwarf_units *d, struct dwarf_unit *u, const struct dwarf_value *file);
/* Visits what an entry covers, by its attributes; they may be missing. */
void dwarf_visit_ranges(struct dwarf_units *d, struct dwarf_unit *u, const struct dwarf_value *low,
	const struct dwarf_value *high, const struct dwarf_value *ranges,
	void (*visit)(void *context, uint64_t start, uint64_t end), void *context);
