/* SPDX-License-Identifier: MIT */
/*
 * The kernel's own symbol list, in the text form of /proc/kallsyms: "address type name [module]".
 *
 * Its symbols have no sizes; one reaches to the next, whatever that is, but no further than any
 * function does. Where the kernel hides addresses (kptr_restrict) they are all zero, and nothing
 * matches.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct kallsyms_match {
	uint64_t address; /* what is looked for */
	uint64_t start;	  /* of the nearest symbol at or before it; 0: none */
	const char *name; /* inside the text; NULL: not a function of the kernel */
	size_t name_length;
	char type;
};

/* Fills in the matches, which come sorted by address, from the text in one pass. */
void kallsyms_match(const char *text, size_t size, struct kallsyms_match *matches, size_t count);
