/* SPDX-License-Identifier: MIT */
/*
 * What one instruction of NVIDIA GPU code is: its mnemonic, the modifiers that tell how much it
 * moves and where, its guard predicate, and a class for grouping. For the 128-bit encoding of
 * compute capability 7.5 and later; the tables (sass_table.c) are facts observed from NVIDIA's
 * disassembler.
 *
 * Operands are not decoded, and a modifier that is not certain is left out: "LDG.E.128", not a
 * guess of more. Full text comes from nvdisasm where it is installed (nvdisasm.h).
 *
 * Pure functions over the bytes given; any thread. The bytes are untrusted: whatever they are, the
 * answer is a text.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SASS_INSTRUCTION_BYTES 16
#define SASS_TEXT_MAX	       64 /* room for the longest text with its NUL */

enum sass_class {
	SASS_OTHER,
	SASS_GLOBAL_LOAD,
	SASS_GLOBAL_STORE,
	SASS_SHARED_LOAD,
	SASS_SHARED_STORE,
	SASS_LOCAL_LOAD,
	SASS_LOCAL_STORE,
	SASS_GENERIC_LOAD, /* global, shared or local: the address decides */
	SASS_GENERIC_STORE,
	SASS_CONSTANT_LOAD,
	SASS_TEXTURE,
	SASS_SURFACE,
	SASS_TENSOR_MEMORY, /* loads, stores and copies of the tensor memory of 10.x */
	SASS_ASYNC_COPY,    /* global to shared or back, without registers */
	SASS_ATOMIC,	    /* also reductions */
	SASS_CACHE,	    /* fences and cache control */
	SASS_TENSOR,
	SASS_FP32,
	SASS_FP64,
	SASS_FP16, /* half precision and bfloat16 */
	SASS_INTEGER,
	SASS_SPECIAL_FUNCTION,
	SASS_CONVERT,
	SASS_MOVE, /* also selects, predicates and special registers */
	SASS_WARP, /* exchange between the lanes of a warp: shuffles, votes, matches */
	SASS_BRANCH,
	SASS_BARRIER,
	SASS_UNIFORM, /* arithmetic once for a warp, beside the lanes */
	SASS_CLASS_COUNT
};

struct sass_instruction {
	uint16_t opcode;      /* bits 0 to 11 */
	const char *mnemonic; /* "LDG"; NULL: not one we know for this SM */
	enum sass_class class;
	uint8_t guard; /* the predicate's number; 7: none */
	bool guard_negated, guard_uniform;
};

/* Whether there is a table for it: `sm` is 10 * major + minor of the compute capability. */
bool sass_has_sm(unsigned int sm);
/* Always fills in *ret; false when the instruction, or the SM, is not known. */
bool sass_decode(
	unsigned int sm, const uint8_t bytes[SASS_INSTRUCTION_BYTES], struct sass_instruction *ret);
/* The text, "@!P0 LDG.E.128" or "[unknown 0x981]", cut to fit `size`; the same bool. */
bool sass_text(
	unsigned int sm, const uint8_t bytes[SASS_INSTRUCTION_BYTES], char *ret, size_t size);
/* The class of an instruction by its text, ours or nvdisasm's. */
enum sass_class sass_class_of_text(const char *text);
/* In words: "global memory load". */
const char *sass_class_words(enum sass_class class);
