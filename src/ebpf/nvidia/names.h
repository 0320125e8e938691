/* SPDX-License-Identifier: MIT */
/* How bpftime tells programs for CUDA kernels from others: its examples begin the function's name
 * with it, and one the kernel's. */
#pragma once

#define EBPF_FUNCTION_PREFIX "cuda__"
/* Before a mangled name, which begins with an underscore itself: "cuda__Z9vectorAddPKfS0_Pf". */
#define EBPF_KERNEL_PREFIX "cuda_"
