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
 * What a label is cut down to where there is little room: at level 1 without arguments and what comes before the
 * name, at level 2 also without what it is qualified by. Appends nothing where that is not shorter.
 *
 *	void at::native::reduce_kernel<512, float>(float*)	1: at::native::reduce_kernel	2: reduce_kernel
 *	/home/u/src/kernels					1 and 2: .../kernels
 *
 * Of "[waiting: lock]" it is "lock", of "[waiting for the GPU]" it is "GPU". For names of C++ and Rust, of GPU kernels and source, and for why threads wait.
 * src/export/flame/draw.js does the same.
 */
void label_brief(const char *label, size_t size, int level, struct buf *b);

/* Whether a function is called like one of the CUDA API: "cudaLaunchKernel", "cuMemcpyAsync". */
bool label_is_cuda_call(const char *name, size_t size);
/*
 * Whether a function, by its linker name, is what nvcc puts between the program's own code and the
 * call that launches a kernel: a stub of its own making, "__device_stub__Z4gemmPf" or
 * "__wrapper__device_stub_gemm", a helper of these, or a template of CUDA's headers, "cudaLaunchKernel<char>".
 */
bool label_is_launch_stub(const char *name);
/* Whether a path is that of a library between a program and its GPU work: CUDA's, or our own. */
bool label_is_cuda_library(const char *path);
/* Whether a path is that of the C library, its threads or its loader. */
bool label_is_c_library(const char *path);
