/* SPDX-License-Identifier: MIT */
/* What OpenCL's names mean, and those of the drivers that are known to implement it. */
#pragma once

#include "vendor/vendor.h"

extern const struct vendor vendor_opencl;

/* The loader, as programs are linked to it. */
#define OPENCL_LOADER	     "libOpenCL.so"
#define OPENCL_LOADER_SONAME OPENCL_LOADER ".1"
/* Libraries that the loader puts between programs and drivers: paths, the first is nearest to the
 * driver. */
#define OPENCL_LAYERS_VARIABLE "OPENCL_LAYERS"

/* AMD's implementation asks HSA, which AMD's tracer reports as well. */
#define OPENCL_PLATFORM_ON_HSA "AMD Accelerated Parallel Processing"

/* Beginnings of the file names of implementations. */
extern const char *const opencl_drivers[];
