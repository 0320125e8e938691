// SPDX-License-Identifier: MIT
/*
 * Copies and memory sets. All are boxes of rows (width in bytes, height, depth); a linear one has
 * one row. Both ends must lie in memory of the kind that the call names, within one allocation if
 * it is the driver's memory.
 */
#include "sim.h"

#include <string.h>

static bool side_describe(struct sim_side *side, CUdeviceptr at, size_t span, bool device, bool any)
{
	struct sim_memory m;

	side->at = (char *)(uintptr_t)at;
	side->kind = SIM_MEMORY_PAGEABLE;
	side->context = sim_current();
	side->device = side->context ? side->context->device : 0;
	if (!sim_memory_find(at, &m))
		return any || !device;
	if (at + span - m.base > m.bytes)
		return false;
	side->kind = m.kind;
	side->device = m.device;
	side->context = m.context;
	return true;
}

/*
 * A copy inside the device does not hold up the caller, also where it is not called asynchronous.
 */
static bool held_up(const struct sim_copy *c, CUstream stream, enum sim_sync sync)
{
	return sync == SIM_SYNC && (stream->capture || c->to.kind != SIM_MEMORY_DEVICE ||
					   c->from.kind != SIM_MEMORY_DEVICE);
}

static CUresult copy_submit(struct sim_copy *copy, CUstream stream, enum sim_sync sync)
{
	struct sim_work work = {.type = CU_GRAPH_NODE_TYPE_MEMCPY};

	if (!stream)
		return sim_stream_error();
	if (!(copy->width && copy->height && copy->depth))
		return CUDA_SUCCESS;
	if (sim.faults.fail_copy &&
		(atomic_fetch_add(&sim.copies, 1) + 1) % sim.faults.fail_copy == 0)
		return CUDA_ERROR_INVALID_VALUE;
	copy->async = sync == SIM_ASYNC;
	work.copy = *copy;
	return sim_submit(stream, &work, held_up(copy, stream, sync) ? SIM_SYNC : SIM_ASYNC);
}

CUresult sim_copy(CUdeviceptr to, CUdeviceptr from, size_t bytes, enum sim_direction direction,
	CUstream stream, enum sim_sync sync)
{
	struct sim_copy copy = {.width = bytes, .height = 1, .depth = 1};
	bool any = direction == SIM_ANY;

	if (bytes && !(side_describe(&copy.to, to, bytes, direction != SIM_DTOH, any) &&
			     side_describe(&copy.from, from, bytes, direction != SIM_HTOD, any)))
		return CUDA_ERROR_INVALID_VALUE;
	return copy_submit(&copy, stream, sync);
}

CUresult sim_copy_peer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
	CUcontext from_context, size_t bytes, CUstream stream, enum sim_sync sync)
{
	struct sim_copy copy = {.width = bytes, .height = 1, .depth = 1, .peer = true};

	if (!to_context || !from_context)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (bytes && !(side_describe(&copy.to, to, bytes, true, false) &&
			     side_describe(&copy.from, from, bytes, true, false)))
		return CUDA_ERROR_INVALID_VALUE;
	return copy_submit(&copy, stream, sync);
}

/* How far a box reaches from its first byte. */
static size_t span(const struct sim_copy *c, size_t pitch, size_t slice)
{
	return (c->depth - 1) * slice + (c->height - 1) * pitch + c->width;
}

static bool box_side(struct sim_copy *c, struct sim_side *side, CUmemorytype type, const void *host,
	CUdeviceptr device, size_t pitch, size_t rows, size_t offset)
{
	CUdeviceptr at = type == CU_MEMORYTYPE_HOST ? SIM_PTR(host) : device;

	side->pitch = pitch ? pitch : c->width;
	side->slice = side->pitch * (rows ? rows : c->height);
	if (type == CU_MEMORYTYPE_ARRAY)
		return false;
	return side_describe(side, at + offset, span(c, side->pitch, side->slice),
		type == CU_MEMORYTYPE_DEVICE, type == CU_MEMORYTYPE_UNIFIED);
}

CUresult sim_copy_describe(const CUDA_MEMCPY3D *p, struct sim_copy *ret)
{
	struct sim_copy c = {.width = p->WidthInBytes, .height = p->Height, .depth = p->Depth};
	size_t from_rows = p->srcHeight ? p->srcHeight : c.height;
	size_t to_rows = p->dstHeight ? p->dstHeight : c.height;

	if (c.width && c.height && c.depth) {
		if (!box_side(&c, &c.from, p->srcMemoryType, p->srcHost, p->srcDevice, p->srcPitch,
			    from_rows,
			    (p->srcZ * from_rows + p->srcY) * p->srcPitch + p->srcXInBytes) ||
			!box_side(&c, &c.to, p->dstMemoryType, p->dstHost, p->dstDevice,
				p->dstPitch, to_rows,
				(p->dstZ * to_rows + p->dstY) * p->dstPitch + p->dstXInBytes))
			return CUDA_ERROR_INVALID_VALUE;
	}
	*ret = c;
	return CUDA_SUCCESS;
}

CUresult sim_copy_3d(const CUDA_MEMCPY3D *p, CUstream stream, enum sim_sync sync)
{
	struct sim_copy copy;
	CUresult result = p ? sim_copy_describe(p, &copy) : CUDA_ERROR_INVALID_VALUE;

	return result ? result : copy_submit(&copy, stream, sync);
}

CUresult sim_copy_2d(const CUDA_MEMCPY2D *p, CUstream stream, enum sim_sync sync)
{
	CUDA_MEMCPY3D box = {.Depth = 1};

	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	box.srcXInBytes = p->srcXInBytes;
	box.srcY = p->srcY;
	box.srcMemoryType = p->srcMemoryType;
	box.srcHost = p->srcHost;
	box.srcDevice = p->srcDevice;
	box.srcPitch = p->srcPitch;
	box.dstXInBytes = p->dstXInBytes;
	box.dstY = p->dstY;
	box.dstMemoryType = p->dstMemoryType;
	box.dstHost = p->dstHost;
	box.dstDevice = p->dstDevice;
	box.dstPitch = p->dstPitch;
	box.WidthInBytes = p->WidthInBytes;
	box.Height = p->Height;
	return sim_copy_3d(&box, stream, sync);
}

CUresult sim_fill_describe(const CUDA_MEMSET_NODE_PARAMS *p, struct sim_fill *ret)
{
	struct sim_fill f = {.pitch = p->pitch, .width = p->width, .height = p->height};
	size_t row = p->width * p->elementSize;
	struct sim_memory m;

	if (p->elementSize != 1 && p->elementSize != 2 && p->elementSize != 4)
		return CUDA_ERROR_INVALID_VALUE;
	f.at = (char *)(uintptr_t)p->dst;
	f.value = p->value;
	f.element_bytes = p->elementSize;
	if (f.width && f.height) {
		if (f.height > 1 && f.pitch < row)
			return CUDA_ERROR_INVALID_VALUE;
		if (!sim_memory_find(p->dst, &m) ||
			p->dst + (f.height - 1) * f.pitch + row - m.base > m.bytes)
			return CUDA_ERROR_INVALID_VALUE;
		f.kind = m.kind;
	}
	*ret = f;
	return CUDA_SUCCESS;
}

/* Setting device memory does not hold up the caller. */
CUresult sim_fill(CUdeviceptr at, size_t pitch, uint32_t value, uint32_t element_bytes,
	size_t width, size_t height, CUstream stream, enum sim_sync sync)
{
	CUDA_MEMSET_NODE_PARAMS p = {at, pitch, value, element_bytes, width, height};
	struct sim_work work = {.type = CU_GRAPH_NODE_TYPE_MEMSET};
	CUresult result;

	if (!stream)
		return sim_stream_error();
	result = sim_fill_describe(&p, &work.fill);
	if (result || !width || !height)
		return result;
	if (sync == SIM_SYNC && stream->capture)
		return sim_capture_forbid(stream);
	work.fill.async = sync == SIM_ASYNC;
	return sim_submit(stream, &work, SIM_ASYNC);
}

static void move_copy(const struct sim_copy *c)
{
	for (size_t z = 0; z < c->depth; z++)
		for (size_t y = 0; y < c->height; y++)
			memmove(c->to.at + z * c->to.slice + y * c->to.pitch,
				c->from.at + z * c->from.slice + y * c->from.pitch, c->width);
}

static void fill_row(char *at, const struct sim_fill *f)
{
	if (f->element_bytes == 1) {
		memset(at, (int)f->value, f->width);
		return;
	}
	for (size_t x = 0; x < f->width; x++)
		memcpy(at + x * f->element_bytes, &f->value, f->element_bytes);
}

void sim_work_move_bytes(const struct sim_work *work)
{
	if (work->type == CU_GRAPH_NODE_TYPE_MEMCPY)
		move_copy(&work->copy);
	if (work->type == CU_GRAPH_NODE_TYPE_MEMSET)
		for (size_t y = 0; y < work->fill.height; y++)
			fill_row(work->fill.at + y * work->fill.pitch, &work->fill);
}
