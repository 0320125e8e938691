/* SPDX-License-Identifier: MIT */
/* The names of the kernels in machine code: those of a cubin's symbols. */
#pragma once

#include <stddef.h>

/* Calls `found` for each, in the order of the symbols, until it is not 0, which is returned; the
 * name ends with a NUL. -EINVAL where the cubin is damaged. */
int code_names(const void *cubin, size_t size, int (*found)(void *context, const char *name),
	void *context);
