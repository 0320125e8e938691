/* SPDX-License-Identifier: MIT */
/*
 * The same as device_memory.h on a real GPU, through its driver, where XPUPROF_TEST_GPU is set:
 * memory that both sides see, and a kernel "k" that is loaded, run and waited for.
 */
#pragma once

#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Of cuda.h, which unit tests do without. */
enum { GPU_ATTACH_GLOBAL = 1 };

static struct {
	int (*cuInit)(unsigned int flags);
	int (*cuDeviceGet)(int *device, int ordinal);
	int (*cuDevicePrimaryCtxRetain)(void **context, int device);
	int (*cuCtxSetCurrent)(void *context);
	int (*cuCtxSynchronize)(void);
	int (*cuMemAllocManaged)(uint64_t *at, size_t bytes, unsigned int flags);
	int (*cuMemFree_v2)(uint64_t at);
	int (*cuModuleLoadData)(void **module, const void *image);
	int (*cuModuleGetFunction)(void **function, void *module, const char *name);
	int (*cuModuleUnload)(void *module);
	int (*cuLaunchKernel)(void *function, unsigned int gx, unsigned int gy, unsigned int gz,
		unsigned int bx, unsigned int by, unsigned int bz, unsigned int shared,
		void *stream, void **parameters, void **extra);
} gpu;

/* A test that cannot go on, as the GPU is in an unknown state. */
static inline void gpu_check(int result, const char *call)
{
	if (!result)
		return;
	fprintf(stderr, "%s: error %d of the driver\n", call, result);
	exit(1);
}

#define GPU(call) gpu_check(gpu.call, #call)

static inline void gpu_open(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW), *context;
	int device;

#define GPU_FIND(name)                                                                             \
	*(void **)&gpu.name = library ? dlsym(library, #name) : NULL;                              \
	gpu_check(gpu.name ? 0 : -1, #name)
	GPU_FIND(cuInit);
	GPU_FIND(cuDeviceGet);
	GPU_FIND(cuDevicePrimaryCtxRetain);
	GPU_FIND(cuCtxSetCurrent);
	GPU_FIND(cuCtxSynchronize);
	GPU_FIND(cuMemAllocManaged);
	GPU_FIND(cuMemFree_v2);
	GPU_FIND(cuModuleLoadData);
	GPU_FIND(cuModuleGetFunction);
	GPU_FIND(cuModuleUnload);
	GPU_FIND(cuLaunchKernel);
#undef GPU_FIND
	GPU(cuInit(0));
	GPU(cuDeviceGet(&device, 0));
	GPU(cuDevicePrimaryCtxRetain(&context, device));
	GPU(cuCtxSetCurrent(context));
}

static inline bool gpu_is_used(void)
{
	bool is_used = getenv("XPUPROF_TEST_GPU") != NULL;

	if (is_used && !gpu.cuInit)
		gpu_open();
	return is_used;
}

static inline void *gpu_memory(size_t bytes)
{
	uint64_t at;

	GPU(cuMemAllocManaged(&at, bytes, GPU_ATTACH_GLOBAL));
	return (void *)(uintptr_t)at;
}

static inline void gpu_free(void *at)
{
	GPU(cuMemFree_v2((uint64_t)(uintptr_t)at));
}

/* The kernel gets the one number `params` points to; the text ends with a NUL. */
static inline void gpu_run(
	const char *text, unsigned int blocks, unsigned int threads, const uint64_t *params)
{
	void *module, *function, *parameters[] = {(void *)(uintptr_t)params};

	GPU(cuModuleLoadData(&module, text));
	GPU(cuModuleGetFunction(&function, module, "k"));
	GPU(cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, 0, NULL, parameters, NULL));
	GPU(cuCtxSynchronize());
	GPU(cuModuleUnload(module));
}
