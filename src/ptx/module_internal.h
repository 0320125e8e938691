/* SPDX-License-Identifier: MIT */
/* What the files that read a module share: module.c its directives, module_functions.c functions
 * with their parameters, module_variables.c variables. */
#pragma once

#include "ptx/module.h"

struct ptx_parser {
	struct ptx_lexer lexer;
	struct ptx_module *module;
	enum ptx_linkage linkage;
	bool out_of_memory;
};

/* What stands before the name of a variable or of a parameter. */
struct ptx_declared {
	struct ptx_text type;
	uint32_t align; /* 0: not said */
	unsigned int element_bytes;
	bool in_register;
};

#define PTX_VARIABLE_MOST_BYTES ((uint64_t)1 << 48)

static inline struct ptx_text ptx_text_of(const struct ptx_token *t)
{
	return (struct ptx_text){t->text, t->size};
}

static inline bool ptx_is_directive(const struct ptx_token *t)
{
	return t->kind == PTX_WORD && *t->text == '.';
}

/* Sets the error, at a token or at what comes next: -EINVAL, or -ENOMEM. */
int ptx_damaged(struct ptx_parser *p, const char *what, const struct ptx_token *t);
int ptx_damaged_here(struct ptx_parser *p, const char *what);
bool ptx_take_number(struct ptx_parser *p, uint64_t *ret);

/* Directives up to the name, which is returned; "no word" where something else comes. */
struct ptx_token ptx_read_declared(struct ptx_parser *p, struct ptx_declared *ret);
/* "[4][2]": the product; 0 for "[]". */
bool ptx_read_dimensions(struct ptx_parser *p, uint64_t *ret);

/* Directives: 0 or -errno. */
int ptx_read_entry(struct ptx_parser *p);
int ptx_read_callee(struct ptx_parser *p);
int ptx_read_const(struct ptx_parser *p);
int ptx_read_global(struct ptx_parser *p);
int ptx_read_shared(struct ptx_parser *p);
