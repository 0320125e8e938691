/* SPDX-License-Identifier: MIT */
/*
 * The CUDA driver, found at run time: programs built with this need neither CUDA's headers nor its
 * libraries to build, and run on NVIDIA's driver or on the simulated one.
 */
#pragma once

#include <stdbool.h>

#include <cuda.h>

/* clang-format off */
#define DRIVER_FUNCTIONS(X) \
	X(cuInit) X(cuDeviceGet) X(cuDeviceGetCount) X(cuDeviceGetName) X(cuGetErrorName) \
	X(cuDevicePrimaryCtxRetain) X(cuCtxSetCurrent) X(cuCtxSynchronize) \
	X(cuCtxEnablePeerAccess) X(cuCtxCreate_v2) X(cuCtxDestroy_v2) X(cuDevicePrimaryCtxReset_v2) \
	X(cuDeviceCanAccessPeer) X(cuModuleLoadData) X(cuModuleGetFunction) X(cuModuleUnload) \
	X(cuMemAlloc_v2) X(cuMemFree_v2) X(cuMemHostAlloc) X(cuMemFreeHost) X(cuMemAllocManaged) \
	X(cuMemcpyHtoD_v2) X(cuMemcpyDtoH_v2) X(cuMemcpyDtoD_v2) X(cuMemcpyHtoDAsync_v2) \
	X(cuMemcpyDtoHAsync_v2) X(cuMemcpyDtoDAsync_v2) X(cuMemcpy) X(cuMemcpyAsync) \
	X(cuMemcpyPeer) X(cuMemcpyPeerAsync) X(cuMemcpy2D_v2) X(cuMemcpy2DAsync_v2) \
	X(cuMemcpy3D_v2) X(cuMemcpy3DAsync_v2) X(cuMemcpyHtoDAsync_v2_ptsz) \
	X(cuMemcpyHtoD_v2_ptds) X(cuMemsetD8_v2) X(cuMemsetD16_v2) X(cuMemsetD32_v2) \
	X(cuMemsetD8Async) X(cuMemsetD16Async) X(cuMemsetD32Async) X(cuMemsetD2D8_v2) \
	X(cuMemsetD2D32Async) X(cuMemsetD8Async_ptsz) X(cuLaunchKernel) X(cuLaunchKernel_ptsz) \
	X(cuLaunchKernelEx) X(cuLaunchKernelEx_ptsz) X(cuLaunchCooperativeKernel) \
	X(cuLaunchCooperativeKernel_ptsz) X(cuLaunchHostFunc) X(cuStreamCreate) X(cuStreamCreateWithPriority) \
	X(cuStreamDestroy_v2) X(cuStreamSynchronize) X(cuStreamSynchronize_ptsz) \
	X(cuStreamWaitEvent) X(cuStreamBeginCapture_v2) X(cuStreamEndCapture) X(cuEventCreate) \
	X(cuEventRecord) X(cuEventSynchronize) X(cuEventDestroy_v2) X(cuGraphCreate) \
	X(cuGraphDestroy) X(cuGraphClone) X(cuGraphAddKernelNode_v2) X(cuGraphAddMemcpyNode) \
	X(cuGraphAddMemsetNode) X(cuGraphInstantiateWithFlags) X(cuGraphExecUpdate_v2) \
	X(cuGraphLaunch) X(cuGraphLaunch_ptsz) X(cuGraphExecDestroy)
/* clang-format on */

struct driver {
#define FIELD(name) __typeof__(name) *name;
	DRIVER_FUNCTIONS(FIELD)
#undef FIELD
};

/* Fills in every function; false after a line on stderr that says what is missing. */
bool driver_open(struct driver *d, const char *program);
/* Says what failed on stderr and leaves with status 1, unless the result is CUDA_SUCCESS. */
void driver_check(
	const struct driver *d, CUresult result, const char *call, const char *file, int line);
