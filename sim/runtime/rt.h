/* SPDX-License-Identifier: MIT */
/*
 * Inside the simulated runtime: what runtime_api.def's rows call. Everything is done by driver
 * calls, which CUPTI therefore sees nested in the runtime's, with the same correlation id.
 */
#pragma once

#include "cuda_runtime.h"
#include "../driver/tools.h"

#define RT_PTR(p) ((CUdeviceptr)(uintptr_t)(p))

/* A box of rows to copy; a linear copy is one row. */
struct rt_box {
	void *to;
	size_t to_pitch;
	const void *from;
	size_t from_pitch;
	size_t width, height;
	cudaMemcpyKind kind;
};

#define RT_BOX(to, to_pitch, from, from_pitch, width, height, kind)                                \
	((struct rt_box){(to), (to_pitch), (from), (from_pitch), (width), (height), (kind)})

/* runtime.c: devices, errors, the call's frame */
CUresult rt_version(int *ret);
CUresult rt_set_device(int device);
CUresult rt_get_device(int *ret);
CUresult rt_init_device(int device);
CUresult rt_properties(struct cudaDeviceProp *ret, int device);
CUresult rt_peer_enable(int device, unsigned int flags);
CUresult rt_entry_point(const char *symbol, void **ret, int version, unsigned long long flags,
	cudaDriverEntryPointQueryResult *ret_status);
CUresult rt_primary(int device, CUcontext *ret);

/* memory.c */
CUresult rt_malloc(void **ret, size_t bytes);
CUresult rt_malloc_pitch(void **ret, size_t *ret_pitch, size_t width, size_t height);
CUresult rt_malloc_managed(void **ret, size_t bytes, unsigned int flags);
CUresult rt_malloc_async(void **ret, size_t bytes, cudaStream_t stream, bool per_thread);
CUresult rt_copy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, bool per_thread);
CUresult rt_copy_async(void *to, const void *from, size_t bytes, cudaMemcpyKind kind,
	cudaStream_t stream, bool per_thread);
CUresult rt_copy_2d(struct rt_box box, bool per_thread);
CUresult rt_copy_2d_async(struct rt_box box, cudaStream_t stream, bool per_thread);
CUresult rt_copy_peer(void *to, int to_device, const void *from, int from_device, size_t bytes);
CUresult rt_copy_peer_async(void *to, int to_device, const void *from, int from_device,
	size_t bytes, cudaStream_t stream);
CUresult rt_add_copy(cudaGraphNode_t *ret, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
	size_t count, struct rt_box box);
CUresult rt_add_fill(cudaGraphNode_t *ret, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
	size_t count, const struct cudaMemsetParams *p);

/* kernels.c */
CUfunction rt_function(
	const void *handle); /* a kernel handle or a registered host function; or NULL */
CUresult rt_launch(const void *f, dim3 grid, dim3 block, void **arguments, size_t shared_bytes,
	cudaStream_t stream, __typeof__(cuLaunchKernel) *launch);
CUresult rt_launch_cooperative(const void *f, dim3 grid, dim3 block, void **arguments,
	size_t shared_bytes, cudaStream_t stream, __typeof__(cuLaunchCooperativeKernel) *launch);
CUresult rt_launch_config(const cudaLaunchConfig_t *config, const void *f, void **arguments,
	__typeof__(cuLaunchKernelEx) *launch);
CUresult rt_add_kernel(cudaGraphNode_t *ret, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
	size_t count, const struct cudaKernelNodeParams *p);
