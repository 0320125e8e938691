/* SPDX-License-Identifier: MIT */
/* The names of the kernels in machine code, those of a cubin's symbols; and in text. */
#pragma once

#include <stddef.h>

/* Calls `found` for each, in the order of the symbols, until it is not 0, which is returned; the
 * name ends with a NUL. -EINVAL where the cubin is damaged. */
int code_names(const void *cubin, size_t size, int (*found)(void *context, const char *name),
	void *context);
/* The same of PTX, of which only what stands behind `.entry` need be PTX. -ENOMEM. */
int text_names(const char *text, size_t size, int (*found)(void *context, const char *name),
	void *context);
