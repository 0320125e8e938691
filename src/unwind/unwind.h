/* SPDX-License-Identifier: MIT */
/*
 * The walker in the recorder: over registers and a copy of the stack, which were kept because a
 * table was not ready at the sample.
 */
#pragma once

#include <stddef.h>

#include "walk/frame.h"

#define UNWIND_PAGE_WORDS 4

/* Where on the stack the frames of loops are, by start.loops. */
struct unwind_loop {
	uint64_t sp, cfa;
};

struct unwind_loops {
	uint32_t count;
	struct unwind_loop items[WALK_FRAMES_MAX]; /* innermost first */
};

/* What a walk starts from. */
struct unwind_start {
	uint64_t pc;
	uint64_t sp;
	uint64_t fp;
	uint64_t lr;
	bool exact;		   /* pc is an interrupted instruction, not a return address */
	const uint64_t *registers; /* by their DWARF numbers; NULL: not known */
	uint32_t register_count;
	const uint8_t *stack; /* the bytes from sp on */
	size_t stack_size;
	/* Pages of 4 KiB that are not in `stack`, whatever stands there: UNWIND_PAGE_WORDS of bits,
	 * counted from sp's page on; NULL: none. */
	const uint64_t *absent;
	const struct walk_mapping *mappings; /* sorted */
	uint32_t mapping_count;
	const uint32_t *words; /* unwind_tables_words */
	uint64_t word_count;
	const uint64_t *entries; /* of Python's loops, innermost first; see walk/python.h */
	uint32_t entry_count;
	struct walk_range loops[WALK_LOOP_RANGES];
	struct unwind_loops *found_loops; /* NULL: they are not wanted */
	/* 8 bytes of the program's code, false: cannot be read; NULL: callers are not guessed */
	bool (*read_code)(uint32_t pid, uint64_t address, uint64_t *ret);
	uint32_t pid;
};

/* Fills frames[WALK_FRAMES_MAX], leaf first: how many, and how it ended. */
uint32_t unwind_walk(const struct unwind_start *start, uint64_t *frames, enum walk_end *ret_end);
