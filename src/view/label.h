/* SPDX-License-Identifier: MIT */
/*
 * What a frame is called in pictures and tables: linker names as people write them, "copy HtoD",
 * "python3 (4711)". The text may hold any bytes the profiled program chose; writers escape it.
 */
#pragma once

#include "base/buf.h"
#include "view/tree.h"

void tree_label(const struct tree_frame *f, struct buf *b);

/* Whether a function is called like one of the CUDA API: "cudaLaunchKernel", "cuMemcpyAsync". */
bool label_is_cuda_call(const char *name, size_t size);
/* Whether a path is that of a library between a program and its GPU work: CUDA's, or our own. */
bool label_is_cuda_library(const char *path);
