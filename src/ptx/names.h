/* SPDX-License-Identifier: MIT */
/* Which kernels a glob names. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/* The names of one kernel that globs are compared with: as the linker has it, as people write it,
 * and that without its parameters and a "void " before it. */
struct ptx_names {
	struct buf mangled, readable, plain;
	struct buf glob;   /* one of several */
	bool has_readable; /* the latter two are there */
};

/* False when memory is short. */
bool ptx_names_set(struct ptx_names *n, const char *mangled, size_t size);
/* Whether one of the globs, one a line, does. Sets *ret_failed when memory is short. A name is made
 * readable only where a glob needs it. */
bool ptx_names_match(struct ptx_names *n, const char *globs, bool *ret_failed);
void ptx_names_release(struct ptx_names *n);
