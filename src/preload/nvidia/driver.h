/* SPDX-License-Identifier: MIT */
/* Functions of the driver that this library calls itself. */
#pragma once

#include <stdbool.h>

#include "preload/nvidia/abi.h"

#define DRIVER(D)                                                                                  \
	D(cuCtxGetCurrent, (cu_context * ret))                                                     \
	D(cuCtxGetDevice, (cu_device * ret))                                                       \
	D(cuCtxPushCurrent_v2, (cu_context context))                                               \
	D(cuCtxPopCurrent_v2, (cu_context * ret))                                                  \
	D(cuDeviceGetCount, (int *ret))                                                            \
	D(cuDeviceGetName, (char *name, int size, cu_device device))                               \
	D(cuDeviceGetAttribute, (int *ret, int attribute, cu_device device))                       \
	D(cuDevicePrimaryCtxGetState, (cu_device device, unsigned int *flags, int *active))        \
	D(cuDevicePrimaryCtxRetain, (cu_context * ret, cu_device device))                          \
	D(cuDevicePrimaryCtxRelease_v2, (cu_device device))                                        \
	D(cuMemAlloc_v2, (cu_address * ret, size_t bytes))                                         \
	D(cuMemFree_v2, (cu_address at))                                                           \
	D(cuMemHostRegister_v2, (void *at, size_t bytes, unsigned int flags))                      \
	D(cuMemHostUnregister, (void *at))                                                         \
	D(cuMemHostGetDevicePointer_v2, (cu_address * ret, void *at, unsigned int flags))          \
	D(cuMemsetD8Async, (cu_address at, unsigned char value, size_t bytes, cu_stream stream))   \
	D(cuMemcpyHtoDAsync_v2, (cu_address to, const void *from, size_t bytes, cu_stream stream)) \
	D(cuMemcpyDtoHAsync_v2, (void *to, cu_address from, size_t bytes, cu_stream stream))       \
	D(cuStreamCreate, (cu_stream * ret, unsigned int flags))                                   \
	D(cuStreamSynchronize, (cu_stream stream))                                                 \
	D(cuStreamQuery, (cu_stream stream))                                                       \
	D(cuStreamDestroy_v2, (cu_stream stream))                                                  \
	D(cuThreadExchangeStreamCaptureMode, (int *mode))                                          \
	D(cuLaunchKernel, (void *function, unsigned int grid_x, unsigned int grid_y,               \
				  unsigned int grid_z, unsigned int block_x, unsigned int block_y, \
				  unsigned int block_z, unsigned int shared_bytes,                 \
				  cu_stream stream, void **parameters, void **extra))              \
	D(cuModuleGetFunction, (void **ret, cu_module module, const char *name))                   \
	D(cuFuncGetAttribute, (int *ret, int attribute, void *function))                           \
	D(cuModuleGetGlobal_v2,                                                                    \
		(cu_address * ret, size_t * bytes, cu_module module, const char *name))

/* Those that older drivers lack: NULL there. */
#define DRIVER_MAYBE(D)                                                                            \
	D(cuCtxGetId, (cu_context context, unsigned long long *ret))                               \
	D(cuDeviceGetUuid, (uint8_t * ret, cu_device device))                                      \
	D(cuDeviceGetUuid_v2, (uint8_t * ret, cu_device device))                                   \
	D(cuDeviceTotalMem_v2, (size_t * ret, cu_device device))                                   \
	D(cuOccupancyMaxActiveBlocksPerMultiprocessor,                                             \
		(int *ret, void *function, int block, size_t dynamic_bytes))                       \
	D(cuKernelGetAttribute, (int *ret, int attribute, void *kernel, cu_device device))         \
	D(cuLibraryGetGlobal,                                                                      \
		(cu_address * ret, size_t * bytes, cu_library library, const char *name))          \
	D(cuLibraryGetModule, (cu_module * ret, cu_library library))                               \
	D(cuLibraryGetKernelCount, (unsigned int *ret, cu_library library))                        \
	D(cuLibraryEnumerateKernels, (void **ret, unsigned int count, cu_library library))         \
	D(cuKernelGetName, (const char **ret, void *kernel))                                       \
	D(cuKernelGetFunction, (void **ret, void *kernel))                                         \
	D(cuModuleGetFunctionCount, (unsigned int *ret, cu_module module))                         \
	D(cuModuleEnumerateFunctions, (void **ret, unsigned int count, cu_module module))          \
	D(cuFuncGetName, (const char **ret, void *function))

struct driver {
#define DRIVER_MEMBER(name, arguments) cu_result(*name) arguments;
	DRIVER(DRIVER_MEMBER)
	DRIVER_MAYBE(DRIVER_MEMBER)
#undef DRIVER_MEMBER
};

extern struct driver driver;

/* Whether all that is needed is there. Any thread. */
bool driver_open(void);
/* A function of the driver that the program has loaded, or NULL. */
void *driver_symbol(const char *name);
