// SPDX-License-Identifier: MIT
/*
 * Memory: device memory is host memory, and a device pointer is its address. All allocations are
 * kept in one sorted array, so that the kind of an address can be found: device, pinned, managed or
 * ordinary memory.
 */
#include "sim.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, PITCH = 512 };

static struct {
	pthread_rwlock_t lock;
	struct sim_memory *all; /* by base */
	size_t count, capacity;
} memory = {.lock = PTHREAD_RWLOCK_INITIALIZER};

/* The index of the first allocation that begins after `at`. */
static size_t after(uintptr_t at)
{
	size_t low = 0, high = memory.count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (memory.all[middle].base <= at)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool find_locked(uintptr_t at, size_t *ret)
{
	size_t i = after(at);

	if (!i || at - memory.all[i - 1].base >= memory.all[i - 1].bytes)
		return false;
	*ret = i - 1;
	return true;
}

bool sim_memory_find(uintptr_t at, struct sim_memory *ret)
{
	size_t i;
	bool found;

	pthread_rwlock_rdlock(&memory.lock);
	found = find_locked(at, &i);
	if (found)
		*ret = memory.all[i];
	pthread_rwlock_unlock(&memory.lock);
	return found;
}

static bool add(const struct sim_memory *m)
{
	bool ok = true;
	size_t i;

	pthread_rwlock_wrlock(&memory.lock);
	if (memory.count == memory.capacity) {
		size_t capacity = memory.capacity ? memory.capacity * 2 : 64;
		struct sim_memory *all = realloc(memory.all, capacity * sizeof(*all));

		ok = all != NULL;
		if (ok) {
			memory.all = all;
			memory.capacity = capacity;
		}
	}
	if (ok) {
		i = after(m->base);
		memmove(memory.all + i + 1, memory.all + i, (memory.count - i) * sizeof(*m));
		memory.all[i] = *m;
		memory.count++;
	}
	pthread_rwlock_unlock(&memory.lock);
	return ok;
}

/* Removes the allocation that begins at `at`, if it is of a kind in the set. */
static bool remove_allocation(uintptr_t at, unsigned int kinds, struct sim_memory *ret)
{
	bool found;
	size_t i;

	pthread_rwlock_wrlock(&memory.lock);
	found = find_locked(at, &i) && memory.all[i].base == at && kinds & 1u << memory.all[i].kind;
	if (found) {
		*ret = memory.all[i];
		memory.count--;
		memmove(memory.all + i, memory.all + i + 1,
			(memory.count - i) * sizeof(*memory.all));
	}
	pthread_rwlock_unlock(&memory.lock);
	return found;
}

bool sim_memory_add_variable(void *at, size_t bytes)
{
	struct sim_memory m = {.base = (uintptr_t)at, .bytes = bytes, .kind = SIM_MEMORY_DEVICE};

	m.context = sim_current();
	m.device = m.context ? m.context->device : 0;
	return add(&m);
}

void sim_memory_remove_variable(void *at)
{
	struct sim_memory m;

	(void)remove_allocation((uintptr_t)at, 1u << SIM_MEMORY_DEVICE, &m);
}

static size_t whole_pages(size_t bytes)
{
	return (bytes + PAGE - 1) & ~(size_t)(PAGE - 1);
}

static CUresult allocate(uintptr_t *ret, size_t bytes, enum sim_memory_kind kind)
{
	CUcontext ctx = sim_current();
	struct sim_memory m = {.bytes = bytes, .kind = kind};
	size_t total = 0;
	void *at;

	if (!ret || !bytes)
		return CUDA_ERROR_INVALID_VALUE;
	if (!ctx)
		return CUDA_ERROR_INVALID_CONTEXT;
	sim_device_total_memory(&total, ctx->device);
	if (bytes > total || sim.devices[ctx->device].allocated_bytes + bytes > total)
		return CUDA_ERROR_OUT_OF_MEMORY;
	at = mmap(NULL, whole_pages(bytes), PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (at == MAP_FAILED)
		return CUDA_ERROR_OUT_OF_MEMORY;
	m.base = (uintptr_t)at;
	m.device = ctx->device;
	m.context = ctx;
	if (!add(&m)) {
		munmap(at, whole_pages(bytes));
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (kind == SIM_MEMORY_DEVICE)
		sim.devices[ctx->device].allocated_bytes += bytes;
	*ret = m.base;
	return CUDA_SUCCESS;
}

static CUresult allocate_device(CUdeviceptr *ret, size_t bytes, enum sim_memory_kind kind)
{
	uintptr_t at;
	CUresult result = ret ? allocate(&at, bytes, kind) : CUDA_ERROR_INVALID_VALUE;

	if (!result)
		*ret = at;
	return result;
}

CUresult sim_memory_info(size_t *ret_free, size_t *ret_total)
{
	CUcontext ctx = sim_current();

	if (!ctx)
		return CUDA_ERROR_INVALID_CONTEXT;
	sim_device_total_memory(ret_total, ctx->device);
	*ret_free = *ret_total - sim.devices[ctx->device].allocated_bytes;
	return CUDA_SUCCESS;
}

CUresult sim_memory_alloc(CUdeviceptr *ret, size_t bytes)
{
	return allocate_device(ret, bytes, SIM_MEMORY_DEVICE);
}

CUresult sim_memory_alloc_pitch(CUdeviceptr *ret, size_t *ret_pitch, size_t width, size_t height)
{
	size_t pitch = (width + PITCH - 1) / PITCH * PITCH;
	CUresult result = allocate_device(ret, pitch * height, SIM_MEMORY_DEVICE);

	if (!result)
		*ret_pitch = pitch;
	return result;
}

CUresult sim_memory_alloc_managed(CUdeviceptr *ret, size_t bytes)
{
	return allocate_device(ret, bytes, SIM_MEMORY_MANAGED);
}

CUresult sim_memory_alloc_async(CUdeviceptr *ret, size_t bytes, CUstream stream)
{
	if (!stream)
		return sim_stream_error();
	if (stream->capture)
		return CUDA_ERROR_NOT_SUPPORTED;
	return allocate_device(ret, bytes, SIM_MEMORY_DEVICE);
}

static CUresult release(uintptr_t at, unsigned int kinds)
{
	struct sim_memory m;

	if (!at)
		return CUDA_SUCCESS;
	if (!remove_allocation(at, kinds, &m))
		return CUDA_ERROR_INVALID_VALUE;
	if (m.kind == SIM_MEMORY_DEVICE)
		sim.devices[m.device].allocated_bytes -= m.bytes;
	munmap((void *)m.base, whole_pages(m.bytes));
	return CUDA_SUCCESS;
}

/* Freeing waits for the device, as cuMemFree does. */
CUresult sim_memory_free(CUdeviceptr at)
{
	CUcontext ctx = sim_current();

	if (ctx)
		sim_wait_until(ctx->idle_ns);
	return release(at, 1u << SIM_MEMORY_DEVICE | 1u << SIM_MEMORY_MANAGED);
}

CUresult sim_memory_free_async(CUdeviceptr at, CUstream stream)
{
	if (!stream)
		return sim_stream_error();
	return release(at, 1u << SIM_MEMORY_DEVICE);
}

CUresult sim_memory_range(CUdeviceptr *ret_base, size_t *ret_bytes, CUdeviceptr at)
{
	struct sim_memory m;

	if (!sim_memory_find(at, &m) || m.kind == SIM_MEMORY_PINNED)
		return CUDA_ERROR_NOT_FOUND;
	if (ret_base)
		*ret_base = m.base;
	if (ret_bytes)
		*ret_bytes = m.bytes;
	return CUDA_SUCCESS;
}

CUresult sim_memory_alloc_host(void **ret, size_t bytes)
{
	uintptr_t at;
	CUresult result = ret ? allocate(&at, bytes, SIM_MEMORY_PINNED) : CUDA_ERROR_INVALID_VALUE;

	if (!result)
		*ret = (void *)at;
	return result;
}

CUresult sim_memory_free_host(void *at)
{
	return release((uintptr_t)at, 1u << SIM_MEMORY_PINNED);
}

CUresult sim_memory_host_device_pointer(CUdeviceptr *ret, void *at)
{
	struct sim_memory m;

	if (!sim_memory_find((uintptr_t)at, &m) || m.kind != SIM_MEMORY_PINNED)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = (uintptr_t)at;
	return CUDA_SUCCESS;
}

CUresult sim_memory_register(void *at, size_t bytes)
{
	struct sim_memory m = {(uintptr_t)at, bytes, SIM_MEMORY_PINNED, 0, sim_current()};

	if (!at || !bytes)
		return CUDA_ERROR_INVALID_VALUE;
	if (!m.context)
		return CUDA_ERROR_INVALID_CONTEXT;
	m.device = m.context->device;
	return add(&m) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult sim_memory_unregister(void *at)
{
	struct sim_memory m;

	return remove_allocation((uintptr_t)at, 1u << SIM_MEMORY_PINNED, &m)
		       ? CUDA_SUCCESS
		       : CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_pointer_attribute(void *ret, CUpointer_attribute attribute, CUdeviceptr at)
{
	struct sim_memory m;

	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	if (!sim_memory_find(at, &m))
		return CUDA_ERROR_INVALID_VALUE;
	switch (attribute) {
	case CU_POINTER_ATTRIBUTE_CONTEXT:
		*(CUcontext *)ret = m.context;
		break;
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
		*(unsigned int *)ret =
			m.kind == SIM_MEMORY_PINNED ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
		break;
	case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
	case CU_POINTER_ATTRIBUTE_HOST_POINTER:
		*(CUdeviceptr *)ret = at;
		break;
	case CU_POINTER_ATTRIBUTE_IS_MANAGED:
		*(bool *)ret = m.kind == SIM_MEMORY_MANAGED;
		break;
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
		*(int *)ret = m.device;
		break;
	case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
		*(CUdeviceptr *)ret = m.base;
		break;
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
		*(size_t *)ret = m.bytes;
		break;
	default:
		return CUDA_ERROR_NOT_SUPPORTED;
	}
	return CUDA_SUCCESS;
}

/* Unlike the single query, this one leaves what it cannot answer at zero. */
CUresult sim_pointer_attributes(
	unsigned int count, CUpointer_attribute *attributes, void **ret, CUdeviceptr at)
{
	for (unsigned int i = 0; i < count; i++)
		if (sim_pointer_attribute(ret[i], attributes[i], at))
			*(unsigned int *)ret[i] = 0;
	return CUDA_SUCCESS;
}
