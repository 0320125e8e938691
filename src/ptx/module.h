/* SPDX-License-Identifier: MIT */
/*
 * How a module of PTX text is made up: what it is for, its functions with their parameters, its
 * variables. Bodies of functions are passed over by their braces.
 *
 * The text is not trusted. Names and bodies point into it: it must stay unchanged until
 * ptx_module_release. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "ptx/lex.h"

#define PTX_CONST_BYTES	    (64u << 10) /* of .const that a module may have */
#define PTX_PARAM_ALIGN_MAX 256u

struct ptx_text {
	const char *at;
	size_t size;
};

struct ptx_param {
	struct ptx_text name;
	struct ptx_text type;	/* ".u64" */
	uint32_t bytes, offset; /* in the block of all parameters */
	uint32_t align;
	bool in_register; /* .reg: of a function that is called */
};

enum ptx_linkage { PTX_LOCAL, PTX_EXTERN, PTX_VISIBLE };

/* What a kernel's text says of its blocks, by which compilers bound its registers. 0: nothing. */
struct ptx_bounds {
	uint32_t threads;   /* of a block at most: .maxntid, .reqntid */
	uint32_t blocks;    /* that a multiprocessor is to have at once: .minnctapersm */
	uint32_t registers; /* of a thread: .maxnreg */
};

struct ptx_function {
	struct ptx_text name;
	enum ptx_linkage linkage;
	bool entry;	   /* a kernel */
	bool has_body;	   /* else it is declared */
	bool bounds_block; /* .maxntid or .reqntid */
	struct ptx_bounds bounds;
	size_t first_param, param_count;   /* in the module's `params` */
	size_t first_result, result_count; /* likewise */
	struct ptx_text body;		   /* from its `{` to its `}`, both included */
};

enum ptx_space { PTX_GLOBAL, PTX_CONST, PTX_SHARED };

struct ptx_variable {
	struct ptx_text name;
	struct ptx_text type; /* ".u32", of each element */
	enum ptx_space space;
	enum ptx_linkage linkage;
	uint64_t bytes; /* 0: the size is not given here */
	uint32_t align;
	struct ptx_text initial; /* what is behind the `=`; size 0: zeros */
};

struct ptx_module_file {
	uint32_t number;
	struct ptx_text path;
};

struct ptx_module {
	unsigned int version; /* major * 10 + minor */
	unsigned int sm;      /* 90 of sm_90a */
	unsigned int address_bits;
	struct ptx_text version_text;
	size_t behind_header; /* offset of the first place at which something may be declared */
	uint64_t const_bytes; /* taken of .const */
	struct vec(struct ptx_function) functions;
	struct vec(struct ptx_param) params;
	struct vec(struct ptx_variable) variables;
	struct vec(struct ptx_module_file) files;
};

/* 0 or -errno with error_text: -EINVAL for text that is no PTX or damaged, -ENOMEM. */
int ptx_module_read(const char *text, size_t size, struct ptx_module *ret);
/* The variables of one directive, in a function too: the lexer is behind ".shared" and gets behind
 * the `;`. They are added to `ret`. 0 or as ptx_module_read. */
int ptx_module_read_variable(struct ptx_lexer *l, enum ptx_space space, struct ptx_module *ret);
void ptx_module_release(struct ptx_module *m);

/* The bytes of a type: ".u32", "f16x2", ".pred" (1); 0: no type. */
unsigned int ptx_type_bytes(struct ptx_text type);
