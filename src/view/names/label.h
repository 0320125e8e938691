/* SPDX-License-Identifier: MIT */
/*
 * What a frame is called in pictures and tables: linker names as people write them, "copy HtoD",
 * "python3 (4711)". The text may hold any bytes the profiled program chose; writers escape it.
 */
#pragma once

#include "base/buf.h"
#include "view/tree/tree.h"

void tree_label(const struct tree_frame *f, struct buf *b);

/*
 * Appends a label cut down for little room: at level 1 without arguments and what comes before the
 * name, at each further level without the next of its qualifiers. Appends nothing if that is not
 * shorter, or if only a word would be left that says nothing without them.
 *
 *	void at::native::reduce_kernel<512, float>(float*)	at::native::reduce_kernel,
 *								native::reduce_kernel, reduce_kernel
 *	at::_ops::addmm::call(at::Tensor const&)		at::_ops::addmm::call, _ops::addmm::call,
 *								addmm::call
 *	/home/u/src/kernels					.../kernels
 *
 * "[waiting: lock]" becomes "lock", "[waiting for the GPU]" becomes "GPU". For names of C++ and
 * Rust, of GPU kernels and source, and for why threads wait. src/export/flame/draw.js does the
 * same.
 */
void label_brief(const char *label, size_t size, int level, struct buf *b);

/* Whether a path is that of the C library, its threads or its loader. */
bool label_is_c_library(const char *path);
