/* SPDX-License-Identifier: MIT */
/*
 * The functions of a code object: an ELF file in memory, as AMD's compilers make it, with the
 * symbols of its functions. A damaged one has fewer functions, or none.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct code_function {
	uint64_t address; /* as the file has it */
	uint64_t size;
	uint32_t index;	  /* of its symbol */
	const char *name; /* in the image */
};

/* Those of the larger of its tables of symbols, in the order of their addresses: at most `room`,
 * which gets how many. */
size_t code_functions(const void *image, size_t size, struct code_function *ret, size_t room);
