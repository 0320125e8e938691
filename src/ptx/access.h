/* SPDX-License-Identifier: MIT */
/* Instructions that access memory: which kind, how many bytes, at which address. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ptx/lex.h"
#include "ptx/module.h"

enum ptx_seen {
	PTX_NO_ACCESS, /* of global memory */
	PTX_SEEN,
	PTX_NOT_SEEN, /* one of global memory that probes do not see */
};

struct ptx_memory {
	uint32_t kind; /* enum ptx_access */
	bool generic;  /* may be of another space */
	/* What its address is made of: a register, a name or a number, and what is added. */
	struct ptx_text base, added; /* added: with its sign; size 0: nothing */
	bool base_is_name;
	uint32_t bytes;		      /* of each lane; 0: in `size_operand` */
	struct ptx_text size_operand; /* of cp.async: the bytes it copies */
};

/* The instruction `op`; the lexer stands behind it. */
enum ptx_seen ptx_memory_of(
	const struct ptx_token *op, const struct ptx_lexer *operands, struct ptx_memory *ret);
