// SPDX-License-Identifier: MIT
/*
 * The runtime's memory calls: pointers where the driver has addresses, one call with a direction
 * where the driver has a call for each.
 */
#include "rt.h"

CUresult rt_malloc(void **ret, size_t bytes)
{
	return ret ? cuMemAlloc_v2((CUdeviceptr *)ret, bytes) : CUDA_ERROR_INVALID_VALUE;
}

CUresult rt_malloc_pitch(void **ret, size_t *ret_pitch, size_t width, size_t height)
{
	return cuMemAllocPitch_v2((CUdeviceptr *)ret, ret_pitch, width, height, 4);
}

CUresult rt_malloc_managed(void **ret, size_t bytes, unsigned int flags)
{
	return cuMemAllocManaged((CUdeviceptr *)ret, bytes, flags);
}

CUresult rt_malloc_async(void **ret, size_t bytes, cudaStream_t stream, bool per_thread)
{
	return per_thread ? cuMemAllocAsync_ptsz((CUdeviceptr *)ret, bytes, stream)
			  : cuMemAllocAsync((CUdeviceptr *)ret, bytes, stream);
}

CUresult rt_copy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, bool per_thread)
{
	CUdeviceptr device_to = RT_PTR(to), device_from = RT_PTR(from);

	if (!bytes)
		return CUDA_SUCCESS;
	switch (kind) {
	case cudaMemcpyHostToDevice:
		return per_thread ? cuMemcpyHtoD_v2_ptds(device_to, from, bytes)
				  : cuMemcpyHtoD_v2(device_to, from, bytes);
	case cudaMemcpyDeviceToHost:
		return per_thread ? cuMemcpyDtoH_v2_ptds(to, device_from, bytes)
				  : cuMemcpyDtoH_v2(to, device_from, bytes);
	case cudaMemcpyDeviceToDevice:
		return per_thread ? cuMemcpyDtoD_v2_ptds(device_to, device_from, bytes)
				  : cuMemcpyDtoD_v2(device_to, device_from, bytes);
	case cudaMemcpyHostToHost:
	case cudaMemcpyDefault:
		return per_thread ? cuMemcpy_ptds(device_to, device_from, bytes)
				  : cuMemcpy(device_to, device_from, bytes);
	}
	return CUDA_ERROR_INVALID_VALUE;
}

CUresult rt_copy_async(void *to, const void *from, size_t bytes, cudaMemcpyKind kind,
	cudaStream_t stream, bool per_thread)
{
	CUdeviceptr device_to = RT_PTR(to), device_from = RT_PTR(from);

	if (!bytes)
		return CUDA_SUCCESS;
	switch (kind) {
	case cudaMemcpyHostToDevice:
		return per_thread ? cuMemcpyHtoDAsync_v2_ptsz(device_to, from, bytes, stream)
				  : cuMemcpyHtoDAsync_v2(device_to, from, bytes, stream);
	case cudaMemcpyDeviceToHost:
		return per_thread ? cuMemcpyDtoHAsync_v2_ptsz(to, device_from, bytes, stream)
				  : cuMemcpyDtoHAsync_v2(to, device_from, bytes, stream);
	case cudaMemcpyDeviceToDevice:
		return per_thread ? cuMemcpyDtoDAsync_v2_ptsz(device_to, device_from, bytes, stream)
				  : cuMemcpyDtoDAsync_v2(device_to, device_from, bytes, stream);
	case cudaMemcpyHostToHost:
	case cudaMemcpyDefault:
		return per_thread ? cuMemcpyAsync_ptsz(device_to, device_from, bytes, stream)
				  : cuMemcpyAsync(device_to, device_from, bytes, stream);
	}
	return CUDA_ERROR_INVALID_VALUE;
}

static CUmemorytype side(cudaMemcpyKind kind, bool to)
{
	switch (kind) {
	case cudaMemcpyHostToHost:
		return CU_MEMORYTYPE_HOST;
	case cudaMemcpyHostToDevice:
		return to ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
	case cudaMemcpyDeviceToHost:
		return to ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
	case cudaMemcpyDeviceToDevice:
		return CU_MEMORYTYPE_DEVICE;
	default:
		return CU_MEMORYTYPE_UNIFIED;
	}
}

static CUDA_MEMCPY2D rows(const struct rt_box *b)
{
	return (CUDA_MEMCPY2D){
		.srcMemoryType = side(b->kind, false),
		.srcHost = b->from,
		.srcDevice = RT_PTR(b->from),
		.srcPitch = b->from_pitch,
		.dstMemoryType = side(b->kind, true),
		.dstHost = b->to,
		.dstDevice = RT_PTR(b->to),
		.dstPitch = b->to_pitch,
		.WidthInBytes = b->width,
		.Height = b->height,
	};
}

CUresult rt_copy_2d(struct rt_box box, bool per_thread)
{
	CUDA_MEMCPY2D p = rows(&box);

	return per_thread ? cuMemcpy2DUnaligned_v2_ptds(&p) : cuMemcpy2DUnaligned_v2(&p);
}

CUresult rt_copy_2d_async(struct rt_box box, cudaStream_t stream, bool per_thread)
{
	CUDA_MEMCPY2D p = rows(&box);

	return per_thread ? cuMemcpy2DAsync_v2_ptsz(&p, stream) : cuMemcpy2DAsync_v2(&p, stream);
}

static CUresult both(int to_device, int from_device, CUcontext *ret_to, CUcontext *ret_from)
{
	CUresult result = rt_primary(to_device, ret_to);

	return result ? result : rt_primary(from_device, ret_from);
}

CUresult rt_copy_peer(void *to, int to_device, const void *from, int from_device, size_t bytes)
{
	CUcontext there, here;
	CUresult result = both(to_device, from_device, &there, &here);

	return result ? result : cuMemcpyPeer(RT_PTR(to), there, RT_PTR(from), here, bytes);
}

CUresult rt_copy_peer_async(void *to, int to_device, const void *from, int from_device,
	size_t bytes, cudaStream_t stream)
{
	CUcontext there, here;
	CUresult result = both(to_device, from_device, &there, &here);

	return result ? result
		      : cuMemcpyPeerAsync(RT_PTR(to), there, RT_PTR(from), here, bytes, stream);
}

CUresult rt_add_copy(cudaGraphNode_t *ret, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
	size_t count, struct rt_box box)
{
	CUDA_MEMCPY3D p = {
		.srcMemoryType = side(box.kind, false),
		.srcHost = box.from,
		.srcDevice = RT_PTR(box.from),
		.srcPitch = box.from_pitch,
		.dstMemoryType = side(box.kind, true),
		.dstHost = box.to,
		.dstDevice = RT_PTR(box.to),
		.dstPitch = box.to_pitch,
		.WidthInBytes = box.width,
		.Height = box.height,
		.Depth = 1,
	};

	return cuGraphAddMemcpyNode(ret, graph, dependencies, count, &p, xpuprof_sim_context());
}

CUresult rt_add_fill(cudaGraphNode_t *ret, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
	size_t count, const struct cudaMemsetParams *p)
{
	CUDA_MEMSET_NODE_PARAMS params;

	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	params = (CUDA_MEMSET_NODE_PARAMS){
		RT_PTR(p->dst), p->pitch, p->value, p->elementSize, p->width, p->height};
	return cuGraphAddMemsetNode(
		ret, graph, dependencies, count, &params, xpuprof_sim_context());
}
