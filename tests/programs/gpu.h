/* SPDX-License-Identifier: MIT */
/*
 * CUDA for the programs with known launches, in two forms from one source: the driver API found by
 * dlopen (default), or the runtime API (GPU_RUNTIME defined), linked to the simulated or to
 * NVIDIA's libcudart, shared or static. Kernels are PTX text in both. One of the programs has Level
 * Zero (GPU_LEVELZERO), OpenCL (GPU_OPENCL) or HIP (GPU_AMD) in its place.
 *
 * Everything here is inlined, so that the function that calls gpu_launch is the one that calls
 * CUDA. A result that is not expected ends the program.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define GPU static inline __attribute__((always_inline))

/*
 * A function whose name and frame a profile must show: never inlined, nor specialized under another
 * name.
 */
#ifdef __clang__
#define STAGE __attribute__((noinline)) static
#else
#define STAGE __attribute__((noinline, noclone)) static
#endif

enum { GPU_BLOCK = 64, GPU_GRID = 8 };

enum gpu_copy_kind { GPU_HTOD, GPU_DTOH, GPU_DTOD, GPU_UNIFIED };

/* A loop of a few microseconds that writes nothing, though the compiler cannot know; then what
 * `at_end` does. */
#define GPU_KERNEL_THAT(name, predicates, words, at_end)                                           \
	".visible .entry " name "(.param .u64 out, .param .u32 rounds)\n"                          \
	"{\n"                                                                                      \
	"\t.reg .pred %p<" predicates ">;\n"                                                       \
	"\t.reg .b32 %r<4>;\n"                                                                     \
	"\t.reg .f32 %f<3>;\n"                                                                     \
	"\t.reg .b64 %rd<" words ">;\n"                                                            \
	"\tld.param.u64 %rd1, [out];\n"                                                            \
	"\tld.param.u32 %r1, [rounds];\n"                                                          \
	"\tcvta.to.global.u64 %rd1, %rd1;\n"                                                       \
	"\tmov.u32 %r2, %tid.x;\n"                                                                 \
	"\tcvt.rn.f32.u32 %f1, %r2;\n"                                                             \
	"\tmov.u32 %r3, 0;\n"                                                                      \
	"ROUND:\n"                                                                                 \
	"\tfma.rn.f32 %f1, %f1, 0f3F000000, 0f3F800000;\n"                                         \
	"\tadd.u32 %r3, %r3, 1;\n"                                                                 \
	"\tsetp.lt.u32 %p1, %r3, %r1;\n"                                                           \
	"\t@%p1 bra ROUND;\n"                                                                      \
	"\tsetp.eq.f32 %p2, %f1, 0fBF800000;\n"                                                    \
	"\t@%p2 st.global.f32 [%rd1], %f1;\n" at_end "\tret;\n"                                    \
	"}\n"

#define GPU_KERNEL(name) GPU_KERNEL_THAT(name, "3", "2", "")

/* A program's own kernels, by a macro like that, as far as it has some. */
#ifndef GPU_OWN_KERNELS
#define GPU_OWN_KERNELS ""
#endif

/* clang-format off */
static const char gpu_ptx[] =
	".version 6.0\n.target sm_52\n.address_size 64\n"
	GPU_KERNEL("count_a_us5")
	GPU_KERNEL("count_b_us3")
	GPU_KERNEL("count_c_us8")
	GPU_KERNEL("count_cooperative_us4")
	GPU_KERNEL("count_tiny_ns100")
	GPU_OWN_KERNELS;
/* clang-format on */

#if defined(GPU_LEVELZERO)
#include "gpu_levelzero.h"
#elif defined(GPU_OPENCL)
#include "gpu_opencl.h"
#elif defined(GPU_AMD)
#include "gpu_amd.h"
#elif defined(GPU_RUNTIME)
#include "gpu_runtime.h"
#else
#include "gpu_driver.h"
#endif
