/* SPDX-License-Identifier: MIT */
/* An open cubin, shared by the files of src/gpucode/nvidia/ only. */
#pragma once

#include <elf.h>

#include "base/vec.h"
#include "gpucode/nvidia/cubin.h"

#define EM_CUDA_GPU 190 /* EM_CUDA, which only newer elf.h have */

struct cubin_section {
	uint64_t offset; /* in the image */
	uint64_t size;	 /* as the header has it */
	uint64_t stored; /* bytes that are in the image: the size or, of damaged ones and bss, 0 */
	const char *name;
	uint32_t type;
	uint32_t link;
	uint32_t info;
	uint64_t flags;
};

struct line_tables;

/* What was passed over because it lies outside the image or makes no sense. */
struct cubin_damage {
	size_t sections;
	size_t symbols; /* of functions */
	/* Of line tables, 0 before the first cubin_frames. */
	size_t programs; /* that make no sense somewhere; what is before is used */
	size_t rows;	 /* that are for no code, or inlined at a row that is not there */
};

struct cubin {
	const uint8_t *image;
	size_t size;
	unsigned int sm;
	struct vec(struct cubin_section) sections;
	size_t symbol_table; /* section index; 0: none */
	struct vec(struct cubin_function) functions;
	/* Function indices in other orders, each of functions.count. */
	uint32_t *by_name;
	uint32_t *by_linkage_name;
	uint32_t *by_symbol;
	struct cubin_damage damage;
	struct line_tables *lines; /* NULL: not read yet */
};

/* Some bytes of the image, inside it. */
struct cubin_bytes {
	const uint8_t *data;
	size_t size;
};

/* Contents of a section, without any for an index that is not one. */
struct cubin_bytes cubin_section_bytes(const struct cubin *c, size_t section);
/* The same, up to its last NUL. */
struct cubin_bytes cubin_string_table(const struct cubin *c, size_t section);
/* The first section of this name with contents; 0: there is none. */
size_t cubin_section_named(const struct cubin *c, const char *name);
/* The text at `offset` of a string table; NULL: there is none. */
const char *cubin_string(struct cubin_bytes table, uint64_t offset);
/* The section of a symbol, and the offset in it: false when it is not defined here. */
bool cubin_symbol_position(
	const struct cubin *c, uint64_t symbol, uint32_t *ret_section, uint64_t *ret_offset);

/* Frees what cubin_frames read. */
void line_tables_free(struct line_tables *t);
