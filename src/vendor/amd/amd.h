/* SPDX-License-Identifier: MIT */
/* What the names of AMD's libraries and calls mean. */
#pragma once

#include "vendor/vendor.h"

extern const struct vendor vendor_amd;

/* The library that reports GPU work, of the version that we know: its number is in the name. */
#define AMD_TRACER_SONAME "librocprofiler-sdk.so.1"
/* Libraries with tools for it: paths, with colons between and behind them. */
#define AMD_TOOLS_VARIABLE "ROCP_TOOL_LIBRARIES"
/* Where it is itself, for programs whose loader does not find it. */
#define AMD_TRACER_VARIABLE "ROCPROFILER_REGISTER_LIBRARY"
/* Ours, which it loads into programs. */
#define AMD_TOOL_NAME "libxpuprof-rocm.so"
/* Folders where it may be installed, beside those of the loader; the last is NULL. */
extern const char *const amd_folders[];
/* The driver, for programs. */
#define AMD_DRIVER_NODE "/dev/kfd"
/* The function in the injected library that ours hands over to. */
#define AMD_TOOL_ENTRY "xpuprof_rocprofiler_configure"
#define AMD_HIP_NAME   "libamdhip64.so"
/* How the names of kernels begin that are the runtime's own. */
#define AMD_RUNTIMES_KERNEL "__amd_rocclr_"
