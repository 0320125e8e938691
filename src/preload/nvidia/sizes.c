// SPDX-License-Identifier: MIT
#include "preload/nvidia/sizes.h"

#include "preload/link.h"
#include "preload/nvidia/driver.h"
#include "preload/nvidia/hooks.h"

#define LANES 32

void *kernel_find(const struct loader *l, void *handle, const char *name)
{
	void *kernel = NULL;

	if (!l->is_library)
		return driver.cuModuleGetFunction(&kernel, handle, name) ? NULL : kernel;
	if (!REAL(cuLibraryGetKernel) || REAL(cuLibraryGetKernel)(&kernel, handle, name))
		return NULL;
	return kernel;
}

uint32_t kernel_attribute(const struct loader *l, void *kernel, int which)
{
	cu_device device = 0;
	cu_result result = CU_NOT_FOUND;
	int n = 0;

	if (!l->is_library) {
		result = driver.cuFuncGetAttribute(&n, which, kernel);
	} else if (driver.cuKernelGetAttribute) {
		/* Without a context it is asked of the first. */
		(void)driver.cuCtxGetDevice(&device);
		result = driver.cuKernelGetAttribute(&n, which, kernel, device);
	}
	return !result && n > 0 ? (uint32_t)n : 0;
}

/* In a context only. A library's kernel stands for its function there. */
static uint32_t warps_at_once(const struct loader *l, void *kernel)
{
	uint32_t block = kernel_attribute(l, kernel, CU_MAX_THREADS);
	int blocks = 0;

	if (block > PROBE_SIZE_BLOCK)
		block = PROBE_SIZE_BLOCK;
	if (!block || !driver.cuOccupancyMaxActiveBlocksPerMultiprocessor ||
		driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(
			&blocks, kernel, (int)block, 0) ||
		blocks <= 0)
		return 0;
	return (uint32_t)blocks * ((block + LANES - 1) / LANES);
}

static struct probe_size size_of(const struct loader *l, void *handle, const char *name)
{
	void *kernel = kernel_find(l, handle, name);

	if (!kernel)
		return (struct probe_size){0};
	return (struct probe_size){
		.registers = kernel_attribute(l, kernel, CU_REGISTERS),
		.local_bytes = kernel_attribute(l, kernel, CU_LOCAL_BYTES),
		.warps = warps_at_once(l, kernel),
	};
}

static void read_original(const struct loader *l, struct image *i)
{
	void *original;

	if (l->load(l->context, i->original, &original))
		return;
	for (size_t n = 0; n < i->sizes.count; n++)
		i->sizes.items[n].without = size_of(l, original, i->spliced.kernels.items[n].name);
	l->unload(l->context, original);
}

void sizes_read(const struct loader *l, struct image *i, void *handle)
{
	if (!link_to_xpuprof.plan->measures)
		return;
	vec_foreach (k, &i->spliced.kernels) {
		struct image_size size = {.with = size_of(l, handle, k->name)};

		if (vec_push(&i->sizes, size))
			return;
	}
	if (!i->is_compiled)
		read_original(l, i);
}
