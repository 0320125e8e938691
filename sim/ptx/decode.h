/* SPDX-License-Identifier: MIT */
/* What decodes one function. */
#pragma once

#include "sim/ptx/names.h"

struct decoder {
	struct sim_ptx *module;
	struct function *function;
	struct ptx_lexer lexer;
	struct names names;
	struct insn insn; /* the one at hand */
	struct operand operands[OPERANDS_MAX];
};

/* -EINVAL, or another error, with the statement's text. */
int decode_error(struct decoder *d, int error, const char *what);
/* declare.c: behind .reg, .local, .param; to its `;`. */
int decode_declaration(struct decoder *d, const struct ptx_token *directive);
/* Parameters and results, by their names in the outermost scope. */
int decode_formals(struct decoder *d, const struct ptx_function *read);
/* operands.c: up to the `;`, of the instruction at hand. */
int decode_operands(struct decoder *d);
/* One operand, appended to `operands`. */
int decode_operand(struct decoder *d);
/* shape.c: whether the instruction has operands and a type as it must. */
bool decode_fits(const struct insn *i, const struct operand *o);
bool decode_type(struct ptx_text part, struct type *ret);
/* A number with its sign: floats as their bits. */
bool decode_literal(struct ptx_lexer *l, struct type type, uint64_t *ret);
