/* SPDX-License-Identifier: MIT */
/* A program with a context, two kernels and some memory of the GPU, for tests that launch. */
#pragma once

#include <stdlib.h>

#include "driver.h"

static struct driver cuda;
static CUcontext context;
static CUfunction axpy, scale;
static CUdeviceptr memory;

#define CHECK(call) driver_check(&cuda, (call), #call, __FILE__, __LINE__)

static inline void begin(const char *name)
{
	static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
				  ".visible .entry axpy(.param .u64 a) { ret; }\n"
				  ".visible .entry scale(.param .u64 a) { ret; }\n";
	CUmodule module;
	CUdevice device;

	if (!driver_open(&cuda, name))
		exit(2);
	CHECK(cuda.cuInit(0));
	CHECK(cuda.cuDeviceGet(&device, 0));
	CHECK(cuda.cuDevicePrimaryCtxRetain(&context, device));
	CHECK(cuda.cuCtxSetCurrent(context));
	CHECK(cuda.cuModuleLoadData(&module, ptx));
	CHECK(cuda.cuModuleGetFunction(&axpy, module, "axpy"));
	CHECK(cuda.cuModuleGetFunction(&scale, module, "scale"));
	CHECK(cuda.cuMemAlloc_v2(&memory, 1 << 16));
}
