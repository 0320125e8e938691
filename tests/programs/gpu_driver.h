/* SPDX-License-Identifier: MIT */
/* gpu.h over the driver API. */
#pragma once

#include "driver.h"

typedef CUfunction gpu_kernel;
typedef CUstream gpu_stream;
typedef CUevent gpu_event;
typedef CUgraph gpu_graph;
typedef CUgraphExec gpu_exec;
typedef CUgraphNode gpu_node;

static const char gpu_form[] = "driver";

#define GPU_OWN_STREAM CU_STREAM_PER_THREAD

static struct gpu {
	struct driver driver;
	CUmodule module;
	CUcontext context;
	CUdeviceptr nowhere; /* what kernels do not write to */
	char name[256];
} gpu;

#define GPU_CHECK(call) driver_check(&gpu.driver, gpu.driver.call, #call, __FILE__, __LINE__)

GPU void gpu_load(void)
{
	GPU_CHECK(cuModuleLoadData(&gpu.module, gpu_ptx));
	GPU_CHECK(cuMemAlloc_v2(&gpu.nowhere, 256));
}

/* From now on, also for kernels, which are to be got anew. */
GPU void gpu_use_device(int ordinal)
{
	CUdevice dev;

	GPU_CHECK(cuDeviceGet(&dev, ordinal));
	GPU_CHECK(cuDeviceGetName(gpu.name, sizeof(gpu.name), dev));
	GPU_CHECK(cuDevicePrimaryCtxRetain(&gpu.context, dev));
	GPU_CHECK(cuCtxSetCurrent(gpu.context));
	gpu_load();
}

GPU int gpu_device_count(void)
{
	int count;

	GPU_CHECK(cuDeviceGetCount(&count));
	return count;
}

/* The same for a second context: of device 1, or where there is none another one of device 0.
 * false: there is none. */
GPU bool gpu_use_second_context(void)
{
	CUdevice dev;

	if (gpu_device_count() > 1) {
		gpu_use_device(1);
		return true;
	}
	GPU_CHECK(cuDeviceGet(&dev, 0));
	GPU_CHECK(cuCtxCreate_v2(&gpu.context, 0, dev));
	gpu_load();
	return true;
}

/* On device 0. false: there is no CUDA, and it was said. */
GPU bool gpu_open(const char *program)
{
	if (!driver_open(&gpu.driver, program))
		return false;
	GPU_CHECK(cuInit(0));
	gpu_use_device(0);
	return true;
}

/* What each further thread begins with. */
GPU void gpu_enter_thread(void)
{
	GPU_CHECK(cuCtxSetCurrent(gpu.context));
}

/* Back to what `gpu` was. */
GPU void gpu_use_again(const struct gpu *before)
{
	gpu = *before;
	gpu_enter_thread();
}

GPU gpu_kernel gpu_get_kernel(const char *name)
{
	CUfunction f;

	GPU_CHECK(cuModuleGetFunction(&f, gpu.module, name));
	return f;
}

#define GPU_ARGUMENTS                                                                              \
	unsigned int rounds = 2000;                                                                \
	void *arguments[] = {&gpu.nowhere, &rounds}

/* With a block of more than 1024 threads the launch is refused: true when it was taken. */
GPU bool gpu_try_launch(gpu_kernel k, unsigned int block, gpu_stream s)
{
	GPU_ARGUMENTS;

	return gpu.driver.cuLaunchKernel(k, GPU_GRID, 1, 1, block, 1, 1, 0, s, arguments, NULL) ==
	       CUDA_SUCCESS;
}

GPU void gpu_launch(gpu_kernel k, gpu_stream s)
{
	GPU_ARGUMENTS;

	GPU_CHECK(cuLaunchKernel(k, GPU_GRID, 1, 1, GPU_BLOCK, 1, 1, 0, s, arguments, NULL));
}

/* A program's own kernel, of so many rounds: true when it was taken. */
GPU bool gpu_try_launch_at(gpu_kernel k, void *at, unsigned int rounds, gpu_stream s)
{
	CUdeviceptr out = (CUdeviceptr)(uintptr_t)at;
	void *arguments[] = {&out, &rounds};

	return gpu.driver.cuLaunchKernel(
		       k, GPU_GRID, 1, 1, GPU_BLOCK, 1, 1, 0, s, arguments, NULL) == CUDA_SUCCESS;
}

GPU void gpu_launch_ptsz(gpu_kernel k)
{
	GPU_ARGUMENTS;

	GPU_CHECK(
		cuLaunchKernel_ptsz(k, GPU_GRID, 1, 1, GPU_BLOCK, 1, 1, 0, NULL, arguments, NULL));
}

GPU void gpu_launch_extended(gpu_kernel k, gpu_stream s)
{
	GPU_ARGUMENTS;
	CUlaunchConfig config = {.gridDimX = GPU_GRID,
		.gridDimY = 1,
		.gridDimZ = 1,
		.blockDimX = GPU_BLOCK,
		.blockDimY = 1,
		.blockDimZ = 1,
		.hStream = s};

	GPU_CHECK(cuLaunchKernelEx(&config, k, arguments, NULL));
}

GPU void gpu_launch_cooperative(gpu_kernel k, gpu_stream s)
{
	GPU_ARGUMENTS;

	GPU_CHECK(cuLaunchCooperativeKernel(k, GPU_GRID, 1, 1, GPU_BLOCK, 1, 1, 0, s, arguments));
}

GPU void *gpu_alloc(size_t bytes)
{
	CUdeviceptr at;

	GPU_CHECK(cuMemAlloc_v2(&at, bytes));
	return (void *)(uintptr_t)at;
}

GPU void *gpu_alloc_pinned(size_t bytes)
{
	void *at;

	GPU_CHECK(cuMemHostAlloc(&at, bytes, 0));
	return at;
}

GPU void gpu_free(void *at)
{
	GPU_CHECK(cuMemFree_v2((CUdeviceptr)(uintptr_t)at));
}

GPU void gpu_free_pinned(void *at)
{
	GPU_CHECK(cuMemFreeHost(at));
}

GPU void gpu_copy(void *to, const void *from, size_t bytes, enum gpu_copy_kind kind)
{
	CUdeviceptr device_to = (CUdeviceptr)(uintptr_t)to,
		    device_from = (CUdeviceptr)(uintptr_t)from;

	if (kind == GPU_HTOD)
		GPU_CHECK(cuMemcpyHtoD_v2(device_to, from, bytes));
	else if (kind == GPU_DTOH)
		GPU_CHECK(cuMemcpyDtoH_v2(to, device_from, bytes));
	else if (kind == GPU_DTOD)
		GPU_CHECK(cuMemcpyDtoD_v2(device_to, device_from, bytes));
	else
		GPU_CHECK(cuMemcpy(device_to, device_from, bytes));
}

GPU void gpu_copy_async(
	void *to, const void *from, size_t bytes, enum gpu_copy_kind kind, gpu_stream s)
{
	CUdeviceptr device_to = (CUdeviceptr)(uintptr_t)to,
		    device_from = (CUdeviceptr)(uintptr_t)from;

	if (kind == GPU_HTOD)
		GPU_CHECK(cuMemcpyHtoDAsync_v2(device_to, from, bytes, s));
	else if (kind == GPU_DTOH)
		GPU_CHECK(cuMemcpyDtoHAsync_v2(to, device_from, bytes, s));
	else if (kind == GPU_DTOD)
		GPU_CHECK(cuMemcpyDtoDAsync_v2(device_to, device_from, bytes, s));
	else
		GPU_CHECK(cuMemcpyAsync(device_to, device_from, bytes, s));
}

/* Half of each row of a square of `side` bytes, from the host. */
GPU void gpu_copy_rows(void *to, const void *from, size_t side)
{
	CUDA_MEMCPY2D p = {.srcMemoryType = CU_MEMORYTYPE_HOST,
		.srcHost = from,
		.srcPitch = side,
		.dstMemoryType = CU_MEMORYTYPE_DEVICE,
		.dstDevice = (CUdeviceptr)(uintptr_t)to,
		.dstPitch = side,
		.WidthInBytes = side / 2,
		.Height = side};

	GPU_CHECK(cuMemcpy2D_v2(&p));
}

GPU void gpu_set(void *at, int value, size_t bytes)
{
	GPU_CHECK(cuMemsetD8_v2((CUdeviceptr)(uintptr_t)at, (unsigned char)value, bytes));
}

GPU void gpu_set_async(void *at, int value, size_t bytes, gpu_stream s)
{
	GPU_CHECK(cuMemsetD8Async((CUdeviceptr)(uintptr_t)at, (unsigned char)value, bytes, s));
}

GPU void gpu_set_rows(void *at, int value, size_t side)
{
	GPU_CHECK(cuMemsetD2D8_v2(
		(CUdeviceptr)(uintptr_t)at, side, (unsigned char)value, side / 2, side));
}

GPU gpu_stream gpu_stream_new(bool blocking)
{
	CUstream s;

	GPU_CHECK(cuStreamCreate(&s, blocking ? CU_STREAM_DEFAULT : CU_STREAM_NON_BLOCKING));
	return s;
}

GPU void gpu_stream_free(gpu_stream s)
{
	GPU_CHECK(cuStreamDestroy_v2(s));
}

GPU void gpu_stream_wait(gpu_stream s)
{
	GPU_CHECK(cuStreamSynchronize(s));
}

GPU void gpu_stream_wait_ptsz(void)
{
	GPU_CHECK(cuStreamSynchronize_ptsz(NULL));
}

GPU void gpu_wait(void)
{
	GPU_CHECK(cuCtxSynchronize());
}

GPU gpu_event gpu_event_new(void)
{
	CUevent e;

	GPU_CHECK(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
	return e;
}

GPU void gpu_event_free(gpu_event e)
{
	GPU_CHECK(cuEventDestroy_v2(e));
}

GPU void gpu_event_record(gpu_event e, gpu_stream s)
{
	GPU_CHECK(cuEventRecord(e, s));
}

GPU void gpu_event_wait(gpu_event e)
{
	GPU_CHECK(cuEventSynchronize(e));
}

GPU void gpu_stream_wait_event(gpu_stream s, gpu_event e)
{
	GPU_CHECK(cuStreamWaitEvent(s, e, 0));
}

GPU void gpu_capture_begin(gpu_stream s)
{
	GPU_CHECK(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
}

/* While it goes on, no thread may make a call that could spoil it. */
GPU void gpu_capture_begin_strict(gpu_stream s)
{
	GPU_CHECK(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
}

GPU gpu_graph gpu_capture_end(gpu_stream s)
{
	CUgraph g;

	GPU_CHECK(cuStreamEndCapture(s, &g));
	return g;
}

/* Whether it succeeded or not. */
GPU void gpu_capture_give_up(gpu_stream s)
{
	CUgraph g;

	if (gpu.driver.cuStreamEndCapture(s, &g) == CUDA_SUCCESS)
		GPU_CHECK(cuGraphDestroy(g));
}

GPU gpu_graph gpu_graph_new(void)
{
	CUgraph g;

	GPU_CHECK(cuGraphCreate(&g, 0));
	return g;
}

GPU gpu_graph gpu_graph_clone(gpu_graph g)
{
	CUgraph clone;

	GPU_CHECK(cuGraphClone(&clone, g));
	return clone;
}

GPU void gpu_graph_free(gpu_graph g)
{
	GPU_CHECK(cuGraphDestroy(g));
}

GPU gpu_node gpu_graph_add_kernel(gpu_graph g, gpu_node after, gpu_kernel k)
{
	GPU_ARGUMENTS;
	CUDA_KERNEL_NODE_PARAMS p = {.func = k,
		.gridDimX = GPU_GRID,
		.gridDimY = 1,
		.gridDimZ = 1,
		.blockDimX = GPU_BLOCK,
		.blockDimY = 1,
		.blockDimZ = 1,
		.kernelParams = arguments};
	CUgraphNode node;

	GPU_CHECK(cuGraphAddKernelNode_v2(&node, g, &after, after ? 1 : 0, &p));
	return node;
}

/* From the host to the device. */
GPU gpu_node gpu_graph_add_copy(
	gpu_graph g, gpu_node after, void *to, const void *from, size_t bytes)
{
	CUDA_MEMCPY3D p = {.srcMemoryType = CU_MEMORYTYPE_HOST,
		.srcHost = from,
		.srcPitch = bytes,
		.dstMemoryType = CU_MEMORYTYPE_DEVICE,
		.dstDevice = (CUdeviceptr)(uintptr_t)to,
		.dstPitch = bytes,
		.WidthInBytes = bytes,
		.Height = 1,
		.Depth = 1};
	CUgraphNode node;

	GPU_CHECK(cuGraphAddMemcpyNode(&node, g, &after, after ? 1 : 0, &p, gpu.context));
	return node;
}

GPU gpu_node gpu_graph_add_set(gpu_graph g, gpu_node after, void *at, int value, size_t bytes)
{
	CUDA_MEMSET_NODE_PARAMS p = {.dst = (CUdeviceptr)(uintptr_t)at,
		.value = (unsigned char)value,
		.elementSize = 1,
		.width = bytes,
		.height = 1};
	CUgraphNode node;

	GPU_CHECK(cuGraphAddMemsetNode(&node, g, &after, after ? 1 : 0, &p, gpu.context));
	return node;
}

GPU gpu_exec gpu_graph_instantiate(gpu_graph g)
{
	CUgraphExec e;

	GPU_CHECK(cuGraphInstantiateWithFlags(&e, g, 0));
	return e;
}

GPU void gpu_exec_update(gpu_exec e, gpu_graph g)
{
	CUgraphExecUpdateResultInfo info;

	GPU_CHECK(cuGraphExecUpdate_v2(e, g, &info));
}

GPU void gpu_exec_launch(gpu_exec e, gpu_stream s)
{
	GPU_CHECK(cuGraphLaunch(e, s));
}

/* True when it was taken. */
GPU bool gpu_try_exec_launch(gpu_exec e, gpu_stream s)
{
	return gpu.driver.cuGraphLaunch(e, s) == CUDA_SUCCESS;
}

GPU void gpu_exec_free(gpu_exec e)
{
	GPU_CHECK(cuGraphExecDestroy(e));
}
