// SPDX-License-Identifier: MIT
/*
 * Kernels of the runtime: a handle from a library, or a host function that code made by nvcc
 * registered before main. Of a registered image only the kernels' names are used.
 */
#include "rt.h"

#include <stdlib.h>

enum { REGISTERED = 8192 }; /* a power of two */

static struct {
	_Atomic(const void *) host;
	_Atomic(CUfunction) function;
} registered[REGISTERED];

static _Thread_local struct {
	dim3 grid, block;
	size_t shared_bytes;
	cudaStream_t stream;
} configuration;

static size_t slot_of(const void *host)
{
	return ((uintptr_t)host >> 4) * 0x9e3779b97f4a7c15u >> 51;
}

static void register_function(const void *host, const char *name)
{
	for (size_t n = 0, i = slot_of(host); n < REGISTERED; n++, i++) {
		const void *none = NULL;

		if (atomic_compare_exchange_strong(&registered[i % REGISTERED].host, &none, host) ||
			none == host) {
			registered[i % REGISTERED].function = xpuprof_sim_function(name);
			return;
		}
	}
}

CUfunction rt_function(const void *handle)
{
	const void *seen;

	if (xpuprof_sim_symbol((CUfunction)handle))
		return (CUfunction)handle;
	for (size_t n = 0, i = slot_of(handle); handle && n < REGISTERED; n++, i++) {
		seen = registered[i % REGISTERED].host;
		if (seen == handle)
			return registered[i % REGISTERED].function;
		if (!seen)
			break;
	}
	return NULL;
}

/* The runtime has names of its own for two of the driver's refusals; one of them not for kernels
 * that were not registered. */
static CUresult refused(const void *handle, CUfunction f, CUresult result)
{
	if (!f)
		return (CUresult)cudaErrorInvalidDeviceFunction;
	if ((const void *)f == handle)
		return result;
	return result == CUDA_ERROR_INVALID_VALUE ? (CUresult)cudaErrorInvalidConfiguration
						  : result;
}

CUresult rt_launch(const void *handle, dim3 grid, dim3 block, void **arguments, size_t shared_bytes,
	cudaStream_t stream, __typeof__(cuLaunchKernel) *launch)
{
	CUfunction f = rt_function(handle);

	if (!f)
		return refused(handle, f, CUDA_SUCCESS);
	return refused(handle, f,
		launch(f, grid.x, grid.y, grid.z, block.x, block.y, block.z,
			(unsigned int)shared_bytes, stream, arguments, NULL));
}

CUresult rt_launch_cooperative(const void *handle, dim3 grid, dim3 block, void **arguments,
	size_t shared_bytes, cudaStream_t stream, __typeof__(cuLaunchCooperativeKernel) *launch)
{
	CUfunction f = rt_function(handle);

	if (!f)
		return refused(handle, f, CUDA_SUCCESS);
	return refused(handle, f,
		launch(f, grid.x, grid.y, grid.z, block.x, block.y, block.z,
			(unsigned int)shared_bytes, stream, arguments));
}

CUresult rt_launch_config(const cudaLaunchConfig_t *c, const void *handle, void **arguments,
	__typeof__(cuLaunchKernelEx) *launch)
{
	CUfunction f = rt_function(handle);
	CUlaunchConfig config;

	if (!f)
		return refused(handle, f, CUDA_SUCCESS);
	config = (CUlaunchConfig){
		.gridDimX = c->gridDim.x,
		.gridDimY = c->gridDim.y,
		.gridDimZ = c->gridDim.z,
		.blockDimX = c->blockDim.x,
		.blockDimY = c->blockDim.y,
		.blockDimZ = c->blockDim.z,
		.sharedMemBytes = (unsigned int)c->dynamicSmemBytes,
		.hStream = c->stream,
		.attrs = (CUlaunchAttribute *)c->attrs,
		.numAttrs = c->numAttrs,
	};
	return refused(handle, f, launch(&config, f, arguments, NULL));
}

CUresult rt_add_kernel(cudaGraphNode_t *ret, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
	size_t count, const struct cudaKernelNodeParams *p)
{
	CUfunction f = p ? rt_function(p->func) : NULL;
	CUDA_KERNEL_NODE_PARAMS params;

	if (!f)
		return refused(p ? p->func : NULL, f, CUDA_SUCCESS);
	params = (CUDA_KERNEL_NODE_PARAMS){
		.func = f,
		.gridDimX = p->gridDim.x,
		.gridDimY = p->gridDim.y,
		.gridDimZ = p->gridDim.z,
		.blockDimX = p->blockDim.x,
		.blockDimY = p->blockDim.y,
		.blockDimZ = p->blockDim.z,
		.sharedMemBytes = p->sharedMemBytes,
		.kernelParams = p->kernelParams,
		.extra = p->extra,
	};
	return refused(
		p->func, f, cuGraphAddKernelNode_v2(ret, graph, dependencies, count, &params));
}

/* What code made by nvcc calls; declared in crt/host_runtime.h of the toolkit. */
SIM_EXPORT void **__cudaRegisterFatBinary(void *image);
SIM_EXPORT void __cudaRegisterFatBinaryEnd(void **handle);
SIM_EXPORT void __cudaUnregisterFatBinary(void **handle);
SIM_EXPORT char __cudaInitModule(void **handle);
SIM_EXPORT void __cudaRegisterFunction(void **handle, const char *host, char *device,
	const char *name, int thread_limit, void *tid, void *bid, dim3 *block, dim3 *grid,
	int *warp_size);
SIM_EXPORT void __cudaRegisterVar(void **handle, char *host, char *device, const char *name,
	int external, size_t bytes, int constant, int global);
SIM_EXPORT unsigned int __cudaPushCallConfiguration(
	dim3 grid, dim3 block, size_t shared_bytes, cudaStream_t stream);
SIM_EXPORT cudaError_t __cudaPopCallConfiguration(
	dim3 *grid, dim3 *block, size_t *shared_bytes, cudaStream_t *stream);
SIM_EXPORT cudaError_t __cudaGetKernel(cudaKernel_t *ret, const void *host);

void **__cudaRegisterFatBinary(void *image)
{
	static void *handle;

	return &handle;
}

void __cudaRegisterFatBinaryEnd(void **handle)
{
}

void __cudaUnregisterFatBinary(void **handle)
{
}

char __cudaInitModule(void **handle)
{
	return 1;
}

void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
	int thread_limit, void *tid, void *bid, dim3 *block, dim3 *grid, int *warp_size)
{
	register_function(host, name);
}

void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int external,
	size_t bytes, int constant, int global)
{
}

unsigned int __cudaPushCallConfiguration(
	dim3 grid, dim3 block, size_t shared_bytes, cudaStream_t stream)
{
	configuration.grid = grid;
	configuration.block = block;
	configuration.shared_bytes = shared_bytes;
	configuration.stream = stream;
	return 0;
}

cudaError_t __cudaPopCallConfiguration(
	dim3 *grid, dim3 *block, size_t *shared_bytes, cudaStream_t *stream)
{
	*grid = configuration.grid;
	*block = configuration.block;
	*shared_bytes = configuration.shared_bytes;
	*stream = configuration.stream;
	return cudaSuccess;
}

cudaError_t __cudaGetKernel(cudaKernel_t *ret, const void *host)
{
	CUfunction f = rt_function(host);

	if (!f)
		return cudaErrorInvalidDeviceFunction;
	*ret = (cudaKernel_t)f;
	return cudaSuccess;
}
