/* SPDX-License-Identifier: MIT */
/*
 * Functions, and the calls that were inlined into them, as .debug_info of DWARF 4 and 5 has them:
 * which function an address is in, and which calls lead there.
 *
 * Addresses are those of a linked image: nothing is relocated. Images come from programs that are
 * not trusted: work and memory are bounded by the sizes of the sections that are read, and what
 * makes no sense is counted and passed over.
 */
#pragma once

#include "base/intern.h"
#include "base/vec.h"
#include "gpucode/code_elf.h"

/* A function with code, or one that was inlined. */
struct inline_scope {
	const char *function; /* linker name, or the source's where it has none; "": not known */
	uint32_t outer;	      /* the scope around it, counted from 1; 0: none */
	/* Of one that was inlined: where it was called in the scope around it. */
	bool inlined;
	uint32_t path; /* interned; 0: not known */
	uint32_t line; /* 0: not known */
};

/* Addresses from here on, up to the next one's, are in this scope and none inside it. */
struct inline_interval {
	uint64_t start;
	uint32_t scope; /* counted from 1; 0: none */
};

struct inline_calls {
	struct vec(struct inline_scope) scopes;
	struct vec(struct inline_interval) intervals; /* by start */
	size_t damage;				      /* units that make no sense somewhere */
};

/* Reads all units; names point into the image. 0 or -ENOMEM, after which it is good for release. */
int inline_calls_init(struct inline_calls *c, const struct code_elf *elf, struct interner *paths);
void inline_calls_release(struct inline_calls *c);

/* The innermost scope that has this address; NULL: none. */
const struct inline_scope *inline_calls_find(const struct inline_calls *c, uint64_t address);
/* The scope around another; NULL: none. */
const struct inline_scope *inline_calls_outer(
	const struct inline_calls *c, const struct inline_scope *s);
