/* SPDX-License-Identifier: MIT */
/* The statements of a function's body, one after the other. */
#pragma once

#include "ptx/lex.h"
#include "ptx/module.h"

enum ptx_statement_kind {
	PTX_INSTRUCTION,
	PTX_LINE,     /* .loc */
	PTX_LABEL,    /* its name is `op` */
	PTX_BODY_END, /* the `}` of the function */
	PTX_DAMAGED,
};

struct ptx_statement {
	enum ptx_statement_kind kind;
	const char *start;	   /* of the statement behind its labels, with its predicate */
	const char *end;	   /* behind its `;`, or of the line */
	struct ptx_text predicate; /* "%p1"; size 0: none */
	bool negated;		   /* @!%p1 */
	struct ptx_token op;
	struct ptx_lexer operands; /* stands behind op */
	uint32_t file, line;	   /* of .loc */
};

struct ptx_walk {
	struct ptx_lexer lexer;
	size_t depth; /* of scopes inside the body */
};

/* Begins behind the function's `{`. */
struct ptx_walk ptx_walk_of(const struct ptx_function *f);
/* The next instruction, .loc or label: scopes and declarations are passed over. After
 * PTX_BODY_END and PTX_DAMAGED there is nothing more. */
void ptx_walk_next(struct ptx_walk *w, struct ptx_statement *ret);
