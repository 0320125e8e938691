/* SPDX-License-Identifier: MIT */
/*
 * What a Go program knows of its functions itself, also when it was stripped (.gopclntab): where
 * they are, what they are called, and how much of the stack they use at each instruction. As Go
 * 1.18 and later write it. The section is untrusted.
 */
#pragma once

#include "elf/elf_file.h"

/* What is done with the stack there (FuncFlag in internal/abi). */
#define GO_TOP_FRAME	1 /* nothing has called it that can be returned to */
#define GO_WRITES_STACK 2 /* it changes to another stack */

struct go_functions {
	struct elf_contents contents;
	uint32_t count;
	uint64_t text;	       /* what addresses count from */
	uint64_t names_at;     /* in the contents, as are these: names, */
	uint64_t values_at;    /* values by instruction, */
	uint64_t functions_at; /* the table of functions, and what it leads to */
	uint32_t flags_at;     /* in the description of a function */
};

struct go_function {
	uint64_t start;
	uint32_t size;
	const char *name; /* valid as long as the functions */
	uint32_t name_at; /* behind the first of all names */
	uint32_t flags;
	uint32_t values; /* where its use of the stack is written; 0: nowhere */
};

/* How much of the stack a function uses, from `offset` on, behind what its caller pushed. */
struct go_stack_use {
	uint32_t offset;
	int64_t bytes;
	/* of the reading, which begins with all of these 0 but `bytes` */
	const uint8_t *next;
	uint32_t next_offset;
};

/* 0; -ENOENT: the file has none, or of another kind; or another -errno with error_text. */
int go_functions_open(struct elf_file *f, struct go_functions *ret);
void go_functions_release(struct go_functions *g);
/* The i-th function by address: false when its description is damaged. */
bool go_functions_at(const struct go_functions *g, uint32_t i, struct go_function *ret);
/* The first, when *use is all zeros, and then the next stretch of its code: false past the last. */
bool go_functions_stack(
	const struct go_functions *g, const struct go_function *f, struct go_stack_use *use);
