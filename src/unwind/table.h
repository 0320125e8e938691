/* SPDX-License-Identifier: MIT */
/*
 * Packs the rules of a file's functions, added in any order, into an unwind table.
 *
 *	builder_begin(b, start, size);
 *	builder_row(b, 0, &rule); builder_row(b, 4, &rule); ...      offsets must not go down
 *	builder_end(b) or builder_drop(b)
 *	...
 *	builder_finish(b, &words)
 *
 * Where functions overlap, the one that begins later holds from its start on, as in the C++
 * runtime, which looks for the last one that begins at or before an address. Of two that begin at
 * one address the first that was added holds.
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
	uint32_t offset; /* from the start of its function */
	uint32_t rule;
};

struct table_builder {
	struct vec(struct table_function) functions;
	struct vec(struct table_row) rows;
	struct vec(struct walk_rule) rules;
	uint32_t *slots; /* hash table of 1 + the number of a rule; 0: free */
	uint32_t slot_mask;
	uint32_t unsupported; /* 1 + the number of the rule for rules without a number; 0: none */
	struct table_function open;
	int error; /* 0; -ENOMEM; -EFBIG: more than any real file has (elf/limits.h) */
};

void builder_init(struct table_builder *b);
void builder_release(struct table_builder *b);

void builder_begin(struct table_builder *b, uint64_t start, uint32_t size);
void builder_row(struct table_builder *b, uint32_t offset, const struct walk_rule *rule);
void builder_end(struct table_builder *b);
void builder_drop(struct table_builder *b);
/* Sorts the functions by address. */
void builder_sort(struct table_builder *b);
/* Whether any function does. */
bool builder_covers(const struct table_builder *b, uint64_t vaddr);
/* 0; -ENODATA: there is no row; -EFBIG: the functions lie too far apart, or they or their rows are
 * too many; -ENOMEM. */
int builder_finish(struct table_builder *b, uint32_t **ret_words);
