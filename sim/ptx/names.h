/* SPDX-License-Identifier: MIT */
/* Names in a function while it is decoded: registers, variables, parameters, labels, by scope. */
#pragma once

#include "sim/ptx/internal.h"

enum name_kind { NAME_REGISTER, NAME_LOCAL, NAME_PARAMETER };

struct name {
	struct ptx_text text; /* of a range without its number: "%r" of "%r<8>" */
	uint32_t count;	      /* of a range; 0: one */
	enum name_kind kind;
	uint32_t place; /* register, offset in local memory or in the parameters */
	uint8_t bytes;	/* of a register; 0: a predicate */
};

struct label {
	struct ptx_text text;
	uint32_t scope;
	uint32_t pc;
};

/* A place in the text that names a label which may come later. */
struct waiting {
	struct ptx_text text;
	uint32_t scope;
	uint32_t *pc; /* to be set; NULL: that of code[insn] */
	size_t insn;
};

struct names {
	struct vec(struct name) all; /* inner scopes behind outer ones */
	struct vec(struct label) labels;
	struct vec(struct waiting) waiting;
	struct vec(uint32_t) parents; /* of each scope; the function's is 0 */
	struct vec(size_t) marks;     /* how many names there were when a scope began */
	uint32_t scope;
};

void names_release(struct names *n);
bool names_enter(struct names *n); /* false: no memory */
void names_leave(struct names *n);
/* The innermost of that name; *ret_index is its number in a range. NULL: none. */
const struct name *names_find(const struct names *n, struct ptx_text text, uint32_t *ret_index);
const struct label *names_label(const struct names *n, struct ptx_text text, uint32_t scope);

static inline bool text_is(struct ptx_text a, struct ptx_text b)
{
	return a.size == b.size && !memcmp(a.at, b.at, a.size);
}
