/* SPDX-License-Identifier: MIT */
/*
 * gpu.h over the runtime API. Compiles with the simulator's header and with NVIDIA's. Kernels come
 * from cudaLibraryLoadData (CUDA 12.6 and later), whose handles cudaLaunchKernel takes.
 */
#pragma once

#include <cuda_runtime.h>

typedef cudaKernel_t gpu_kernel;
typedef cudaStream_t gpu_stream;
typedef cudaEvent_t gpu_event;
typedef cudaGraph_t gpu_graph;
typedef cudaGraphExec_t gpu_exec;
typedef cudaGraphNode_t gpu_node;

static const char gpu_form[] = "runtime";

#define GPU_OWN_STREAM cudaStreamPerThread

static struct gpu {
	cudaLibrary_t library;
	void *nowhere;
	int ordinal;
	char name[256];
} gpu;

/* The per-thread twins, which NVIDIA's header declares only for code that uses nothing else. */
#ifdef __cplusplus
extern "C" {
#endif
cudaError_t cudaLaunchKernel_ptsz(const void *func, dim3 gridDim, dim3 blockDim, void **args,
	size_t sharedMem, cudaStream_t stream);
cudaError_t cudaStreamSynchronize_ptsz(cudaStream_t stream);
#ifdef __cplusplus
}
#endif

GPU void gpu_check(cudaError_t result, const char *call, const char *file, int line)
{
	if (result == cudaSuccess)
		return;
	fprintf(stderr, "%s:%d: %s: %s\n", file, line, call, cudaGetErrorString(result));
	exit(1);
}

#define GPU_CHECK(call) gpu_check(call, #call, __FILE__, __LINE__)

GPU void gpu_use_device(int ordinal)
{
	struct cudaDeviceProp properties;

	GPU_CHECK(cudaGetDeviceProperties(&properties, ordinal));
	snprintf(gpu.name, sizeof(gpu.name), "%s", properties.name);
	GPU_CHECK(cudaSetDevice(ordinal));
	gpu.ordinal = ordinal;
	GPU_CHECK(cudaLibraryLoadData(&gpu.library, gpu_ptx, NULL, NULL, 0, NULL, NULL, 0));
	GPU_CHECK(cudaMalloc((void **)&gpu.nowhere, 256));
}

GPU int gpu_device_count(void)
{
	int count;

	GPU_CHECK(cudaGetDeviceCount(&count));
	return count;
}

GPU bool gpu_open(const char *program)
{
	gpu_use_device(0);
	return true;
}

GPU void gpu_enter_thread(void)
{
	GPU_CHECK(cudaSetDevice(gpu.ordinal));
}

/* Of device 1; false: there is none. */
GPU bool gpu_use_second_context(void)
{
	if (gpu_device_count() < 2)
		return false;
	gpu_use_device(1);
	return true;
}

/* Back to what `gpu` was. */
GPU void gpu_use_again(const struct gpu *before)
{
	gpu = *before;
	gpu_enter_thread();
}

GPU gpu_kernel gpu_get_kernel(const char *name)
{
	cudaKernel_t k;

	GPU_CHECK(cudaLibraryGetKernel(&k, gpu.library, name));
	return k;
}

#define GPU_ARGUMENTS                                                                              \
	unsigned int rounds = 2000;                                                                \
	void *arguments[] = {&gpu.nowhere, &rounds};                                               \
	dim3 grid = {GPU_GRID, 1, 1}, block = {GPU_BLOCK, 1, 1}

GPU bool gpu_try_launch(gpu_kernel k, unsigned int threads, gpu_stream s)
{
	GPU_ARGUMENTS;
	bool taken;

	block.x = threads;
	taken = cudaLaunchKernel((const void *)k, grid, block, arguments, 0, s) == cudaSuccess;
	(void)cudaGetLastError();
	return taken;
}

GPU void gpu_launch(gpu_kernel k, gpu_stream s)
{
	GPU_ARGUMENTS;

	GPU_CHECK(cudaLaunchKernel((const void *)k, grid, block, arguments, 0, s));
}

/* A program's own kernel, of so many rounds: true when it was taken. */
GPU bool gpu_try_launch_at(gpu_kernel k, void *at, unsigned int rounds, gpu_stream s)
{
	void *arguments[] = {&at, &rounds};
	dim3 grid = {GPU_GRID, 1, 1}, block = {GPU_BLOCK, 1, 1};

	return cudaLaunchKernel((const void *)k, grid, block, arguments, 0, s) == cudaSuccess;
}

GPU void gpu_launch_ptsz(gpu_kernel k)
{
	GPU_ARGUMENTS;

	GPU_CHECK(cudaLaunchKernel_ptsz((const void *)k, grid, block, arguments, 0, NULL));
}

GPU void gpu_launch_extended(gpu_kernel k, gpu_stream s)
{
	GPU_ARGUMENTS;
	cudaLaunchConfig_t config = {.gridDim = grid, .blockDim = block, .stream = s};

	GPU_CHECK(cudaLaunchKernelExC(&config, (const void *)k, arguments));
}

GPU void gpu_launch_cooperative(gpu_kernel k, gpu_stream s)
{
	GPU_ARGUMENTS;

	GPU_CHECK(cudaLaunchCooperativeKernel((const void *)k, grid, block, arguments, 0, s));
}

GPU void *gpu_alloc(size_t bytes)
{
	void *at;

	GPU_CHECK(cudaMalloc(&at, bytes));
	return at;
}

GPU void *gpu_alloc_pinned(size_t bytes)
{
	void *at;

	GPU_CHECK(cudaHostAlloc(&at, bytes, cudaHostAllocDefault));
	return at;
}

GPU void gpu_free(void *at)
{
	GPU_CHECK(cudaFree(at));
}

GPU void gpu_free_pinned(void *at)
{
	GPU_CHECK(cudaFreeHost(at));
}

GPU enum cudaMemcpyKind gpu_kind(enum gpu_copy_kind kind)
{
	static const enum cudaMemcpyKind kinds[] = {cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost,
		cudaMemcpyDeviceToDevice, cudaMemcpyDefault};

	return kinds[kind];
}

GPU void gpu_copy(void *to, const void *from, size_t bytes, enum gpu_copy_kind kind)
{
	GPU_CHECK(cudaMemcpy(to, from, bytes, gpu_kind(kind)));
}

GPU void gpu_copy_async(
	void *to, const void *from, size_t bytes, enum gpu_copy_kind kind, gpu_stream s)
{
	GPU_CHECK(cudaMemcpyAsync(to, from, bytes, gpu_kind(kind), s));
}

GPU void gpu_copy_rows(void *to, const void *from, size_t side)
{
	GPU_CHECK(cudaMemcpy2D(to, side, from, side, side / 2, side, cudaMemcpyHostToDevice));
}

GPU void gpu_set(void *at, int value, size_t bytes)
{
	GPU_CHECK(cudaMemset(at, value, bytes));
}

GPU void gpu_set_async(void *at, int value, size_t bytes, gpu_stream s)
{
	GPU_CHECK(cudaMemsetAsync(at, value, bytes, s));
}

GPU void gpu_set_rows(void *at, int value, size_t side)
{
	GPU_CHECK(cudaMemset2D(at, side, value, side / 2, side));
}

GPU gpu_stream gpu_stream_new(bool blocking)
{
	cudaStream_t s;

	GPU_CHECK(cudaStreamCreateWithFlags(
		&s, blocking ? cudaStreamDefault : cudaStreamNonBlocking));
	return s;
}

GPU void gpu_stream_free(gpu_stream s)
{
	GPU_CHECK(cudaStreamDestroy(s));
}

GPU void gpu_stream_wait(gpu_stream s)
{
	GPU_CHECK(cudaStreamSynchronize(s));
}

GPU void gpu_stream_wait_ptsz(void)
{
	GPU_CHECK(cudaStreamSynchronize_ptsz(NULL));
}

GPU void gpu_wait(void)
{
	GPU_CHECK(cudaDeviceSynchronize());
}

GPU gpu_event gpu_event_new(void)
{
	cudaEvent_t e;

	GPU_CHECK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
	return e;
}

GPU void gpu_event_free(gpu_event e)
{
	GPU_CHECK(cudaEventDestroy(e));
}

GPU void gpu_event_record(gpu_event e, gpu_stream s)
{
	GPU_CHECK(cudaEventRecord(e, s));
}

GPU void gpu_event_wait(gpu_event e)
{
	GPU_CHECK(cudaEventSynchronize(e));
}

GPU void gpu_stream_wait_event(gpu_stream s, gpu_event e)
{
	GPU_CHECK(cudaStreamWaitEvent(s, e, 0));
}

GPU void gpu_capture_begin(gpu_stream s)
{
	GPU_CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
}

/* While it goes on, no thread may make a call that could spoil it. */
GPU void gpu_capture_begin_strict(gpu_stream s)
{
	GPU_CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
}

GPU gpu_graph gpu_capture_end(gpu_stream s)
{
	cudaGraph_t g;

	GPU_CHECK(cudaStreamEndCapture(s, &g));
	return g;
}

/* Whether it succeeded or not. */
GPU void gpu_capture_give_up(gpu_stream s)
{
	cudaGraph_t g;

	if (cudaStreamEndCapture(s, &g) == cudaSuccess)
		GPU_CHECK(cudaGraphDestroy(g));
	(void)cudaGetLastError();
}

GPU gpu_graph gpu_graph_new(void)
{
	cudaGraph_t g;

	GPU_CHECK(cudaGraphCreate(&g, 0));
	return g;
}

GPU gpu_graph gpu_graph_clone(gpu_graph g)
{
	cudaGraph_t clone;

	GPU_CHECK(cudaGraphClone(&clone, g));
	return clone;
}

GPU void gpu_graph_free(gpu_graph g)
{
	GPU_CHECK(cudaGraphDestroy(g));
}

GPU gpu_node gpu_graph_add_kernel(gpu_graph g, gpu_node after, gpu_kernel k)
{
	GPU_ARGUMENTS;
	struct cudaKernelNodeParams p = {
		.func = (void *)k, .gridDim = grid, .blockDim = block, .kernelParams = arguments};
	cudaGraphNode_t node;

	GPU_CHECK(cudaGraphAddKernelNode(&node, g, &after, after ? 1 : 0, &p));
	return node;
}

GPU gpu_node gpu_graph_add_copy(
	gpu_graph g, gpu_node after, void *to, const void *from, size_t bytes)
{
	cudaGraphNode_t node;

	GPU_CHECK(cudaGraphAddMemcpyNode1D(
		&node, g, &after, after ? 1 : 0, to, from, bytes, cudaMemcpyHostToDevice));
	return node;
}

GPU gpu_node gpu_graph_add_set(gpu_graph g, gpu_node after, void *at, int value, size_t bytes)
{
	struct cudaMemsetParams p = {.dst = at,
		.value = (unsigned char)value,
		.elementSize = 1,
		.width = bytes,
		.height = 1};
	cudaGraphNode_t node;

	GPU_CHECK(cudaGraphAddMemsetNode(&node, g, &after, after ? 1 : 0, &p));
	return node;
}

GPU gpu_exec gpu_graph_instantiate(gpu_graph g)
{
	cudaGraphExec_t e;

	GPU_CHECK(cudaGraphInstantiate(&e, g, 0));
	return e;
}

GPU void gpu_exec_update(gpu_exec e, gpu_graph g)
{
	cudaGraphExecUpdateResultInfo info;

	GPU_CHECK(cudaGraphExecUpdate(e, g, &info));
}

GPU void gpu_exec_launch(gpu_exec e, gpu_stream s)
{
	GPU_CHECK(cudaGraphLaunch(e, s));
}

/* True when it was taken. */
GPU bool gpu_try_exec_launch(gpu_exec e, gpu_stream s)
{
	bool taken = cudaGraphLaunch(e, s) == cudaSuccess;

	(void)cudaGetLastError();
	return taken;
}

GPU void gpu_exec_free(gpu_exec e)
{
	GPU_CHECK(cudaGraphExecDestroy(e));
}
