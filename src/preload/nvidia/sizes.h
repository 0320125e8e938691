/* SPDX-License-Identifier: MIT */
/* What kernels take of a multiprocessor, with programs and without. */
#pragma once

#include "preload/nvidia/images.h"
#include "preload/nvidia/loader.h"

/* A kernel of a module, or of a library, by its name; NULL: it has none. */
void *kernel_find(const struct loader *l, void *handle, const char *name);
/* enum cu_function_attribute; 0: not known. */
uint32_t kernel_attribute(const struct loader *l, void *kernel, int which);

/* Of all kernels of an image, which was loaded with programs as `handle`, if the plan wants to
 * know; else of those for which the bounds in its text may not leave enough registers. The original
 * is loaded, too, for a moment. */
void sizes_read(const struct loader *l, struct image *i, void *handle);
