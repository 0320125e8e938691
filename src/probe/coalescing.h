/* SPDX-License-Identifier: MIT */
/* What the tool `coalesce` found out about an access in a kernel's code. */
#pragma once

#include "probe/values.h"

#define COALESCING_MAP	      "accesses"
#define COALESCING_LINE_BYTES 128

struct coalescing {
	uint64_t kernel;     /* hash of its name */
	uint32_t insn;	     /* number of the access in it */
	uint32_t size_bytes; /* that each lane accesses; 0: not known */
	/* Of warps; of all of them together: lanes, and lines of 128 bytes. */
	uint64_t accesses, lanes, lines;
};

/* Of an entry of the map of that name. */
struct coalescing coalescing_of(const struct values *v, const struct value_entry *e);
/* The fewest lines that such an access can take. */
double coalescing_least(const struct coalescing *c);
