/* SPDX-License-Identifier: MIT */
/*
 * Numbers of accesses to memory, for arrays by access (wire/arena.h). Accesses that mean the same
 * have the same numbers: an image that is loaded again, or into another context, takes no others.
 * All functions are for any thread.
 */
#pragma once

#include "ptx/splice.h"

/* The number of its first access; the others have those after it. */
uint64_t sites_number(const struct ptx_spliced *s);
