/* SPDX-License-Identifier: MIT */
/*
 * The functions of the driver that this library stands before. A program gets at them in one of
 * these ways, and finds ours in each:
 *
 *	linked with the driver	ours have the driver's names, and come first
 *	dlsym			is ours (dlsym.S, symbols.c)
 *	cuGetProcAddress	is found in one of these ways, and hands ours out
 *
 * What a function calls in the end is the one that the program would have called.
 */
#pragma once

#include "preload/nvidia/abi.h"

#define HOOKS(H)                                                                                   \
	H(cuGetProcAddress)                                                                        \
	H(cuGetProcAddress_v2)                                                                     \
	H(cuInit)                                                                                  \
	H(cuModuleLoad)                                                                            \
	H(cuModuleLoadData)                                                                        \
	H(cuModuleLoadDataEx)                                                                      \
	H(cuModuleLoadFatBinary)                                                                   \
	H(cuModuleUnload)                                                                          \
	H(cuLibraryLoadData)                                                                       \
	H(cuLibraryLoadFromFile)                                                                   \
	H(cuLibraryUnload)                                                                         \
	H(cuLibraryGetKernel)                                                                      \
	H(cuLibraryGetModule)                                                                      \
	H(cuCtxCreate)                                                                             \
	H(cuCtxCreate_v2)                                                                          \
	H(cuCtxCreate_v3)                                                                          \
	H(cuCtxCreate_v4)                                                                          \
	H(cuCtxSetCurrent)                                                                         \
	H(cuCtxPushCurrent)                                                                        \
	H(cuCtxPushCurrent_v2)                                                                     \
	H(cuCtxDestroy)                                                                            \
	H(cuCtxDestroy_v2)                                                                         \
	H(cuDevicePrimaryCtxRelease)                                                               \
	H(cuDevicePrimaryCtxRelease_v2)                                                            \
	H(cuDevicePrimaryCtxReset)                                                                 \
	H(cuDevicePrimaryCtxReset_v2)

enum hook {
#define HOOK_NUMBER(name) HOOK_##name,
	HOOKS(HOOK_NUMBER)
#undef HOOK_NUMBER
		HOOK_COUNT
};

#define EXPORT __attribute__((visibility("default")))

EXPORT cu_result cuGetProcAddress(const char *symbol, void **ret, int version, uint64_t flags);
EXPORT cu_result cuGetProcAddress_v2(
	const char *symbol, void **ret, int version, uint64_t flags, int *ret_status);
EXPORT cu_result cuInit(unsigned int flags);
EXPORT cu_result cuModuleLoad(cu_module *ret, const char *path);
EXPORT cu_result cuModuleLoadData(cu_module *ret, const void *image);
EXPORT cu_result cuModuleLoadDataEx(
	cu_module *ret, const void *image, unsigned int count, int *options, void **values);
EXPORT cu_result cuModuleLoadFatBinary(cu_module *ret, const void *image);
EXPORT cu_result cuModuleUnload(cu_module module);
EXPORT cu_result cuLibraryLoadData(cu_library *ret, const void *code, int *options, void **values,
	unsigned int count, int *library_options, void **library_values,
	unsigned int library_count);
EXPORT cu_result cuLibraryLoadFromFile(cu_library *ret, const char *path, int *options,
	void **values, unsigned int count, int *library_options, void **library_values,
	unsigned int library_count);
EXPORT cu_result cuLibraryUnload(cu_library library);
EXPORT cu_result cuLibraryGetKernel(void **ret, cu_library library, const char *name);
EXPORT cu_result cuLibraryGetModule(cu_module *ret, cu_library library);
/* Each has five arguments of one register at most; those that it does not have are not looked
 * at. */
EXPORT cu_result cuCtxCreate(cu_context *ret, long a, long b, long c, long d);
EXPORT cu_result cuCtxCreate_v2(cu_context *ret, long a, long b, long c, long d);
EXPORT cu_result cuCtxCreate_v3(cu_context *ret, long a, long b, long c, long d);
EXPORT cu_result cuCtxCreate_v4(cu_context *ret, long a, long b, long c, long d);
EXPORT cu_result cuCtxSetCurrent(cu_context context);
EXPORT cu_result cuCtxPushCurrent(cu_context context);
EXPORT cu_result cuCtxPushCurrent_v2(cu_context context);
EXPORT cu_result cuCtxDestroy(cu_context context);
EXPORT cu_result cuCtxDestroy_v2(cu_context context);
EXPORT cu_result cuDevicePrimaryCtxRelease(cu_device device);
EXPORT cu_result cuDevicePrimaryCtxRelease_v2(cu_device device);
EXPORT cu_result cuDevicePrimaryCtxReset(cu_device device);
EXPORT cu_result cuDevicePrimaryCtxReset_v2(cu_device device);

/* What the program would have called; NULL: this driver has none. */
void *hook_real(enum hook hook);
/* The real function, as one of this type. */
#define REAL(name) ((__typeof__(&name))hook_real(HOOK_##name))
