/* SPDX-License-Identifier: MIT */
/* An open cubin, shared by the files of src/gpucode/nvidia/ only. */
#pragma once

#include "base/vec.h"
#include "gpucode/code_elf.h"
#include "gpucode/line_table.h"
#include "gpucode/nvidia/cubin.h"

#define EM_CUDA_GPU 190 /* EM_CUDA, which only newer elf.h have */

struct line_tables;

struct cubin {
	struct code_elf elf;
	unsigned int sm;
	struct vec(struct cubin_function) functions;
	/* Function indices in other orders, each of functions.count. */
	uint32_t *by_name;
	uint32_t *by_linkage_name;
	uint32_t *by_symbol;
	size_t damaged_symbols;	   /* of functions that lie outside the image or make no sense */
	struct line_tables *lines; /* NULL: not read yet */
};

/* What the line programs of cubins have beside DWARF's (line_dialect.c). */
extern const struct line_dialect cubin_lines;

/* What was passed over because it lies outside the image or makes no sense. */
struct cubin_damage {
	size_t sections;
	size_t symbols;		  /* of functions */
	struct line_damage lines; /* none before the first cubin_frames */
};

struct cubin_damage cubin_damage(const struct cubin *c);

/* Frees what cubin_frames read. */
void line_tables_free(struct line_tables *t);
