/* SPDX-License-Identifier: MIT */
/*
 * Packs what was learnt of the functions of a file, in any order, into an unwind table.
 *
 *	builder_begin(b, start, size);
 *	builder_row(b, 0, &rule); builder_row(b, 4, &rule); ...      places must not go down
 *	builder_end(b) or builder_drop(b)
 *	...
 *	builder_finish(b, &words)
 *
 * Of functions that overlap, the one that begins later holds from there on, as it does for the C++
 * runtime, which looks for the last one that begins at or before an address; of two that begin at
 * one address the first that was given.
 */
#pragma once

#include "base/vec.h"
#include "unwind/cfi.h"

struct table_function {
	uint64_t start;
	uint32_t size;
	uint32_t order; /* in which it was given */
	uint32_t first_row;
	uint32_t row_count;
};

struct table_row {
	uint32_t place; /* from the start of its function */
	uint32_t rule;
};

struct table_builder {
	struct vec(struct table_function) functions;
	struct vec(struct table_row) rows;
	struct vec(struct walk_rule) rules;
	uint32_t *slots; /* hash table of 1 + the number of a rule; 0: free */
	uint32_t slot_mask;
	struct table_function open;
	bool failed; /* out of memory */
};

void builder_init(struct table_builder *b);
void builder_release(struct table_builder *b);

void builder_begin(struct table_builder *b, uint64_t start, uint32_t size);
void builder_row(struct table_builder *b, uint32_t place, const struct walk_rule *rule);
void builder_end(struct table_builder *b);
void builder_drop(struct table_builder *b);
/* Sorts the functions by address. */
void builder_sort(struct table_builder *b);
/* Whether any function does. */
bool builder_covers(const struct table_builder *b, uint64_t vaddr);
/* 0; -ENODATA: there is no row; -EFBIG: the functions lie too far apart or are too many; -ENOMEM.
 */
int builder_finish(struct table_builder *b, uint32_t **ret_words);
