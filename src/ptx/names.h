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
};

/* False when memory is short. */
bool ptx_names_set(struct ptx_names *n, const char *mangled, size_t size);
bool ptx_names_match(const struct ptx_names *n, const char *glob);
void ptx_names_release(struct ptx_names *n);
