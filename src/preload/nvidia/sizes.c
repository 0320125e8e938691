// SPDX-License-Identifier: MIT
#include "preload/nvidia/sizes.h"

#include "preload/link.h"
#include "preload/nvidia/driver.h"
#include "preload/nvidia/hooks.h"

#define LANES	       32
#define REGISTERS_UNIT 8 /* that compilers may leave unused below a bound */

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
		if (i->sizes.items[n].with.registers)
			i->sizes.items[n].without =
				size_of(l, original, i->spliced.kernels.items[n].name);
	l->unload(l->context, original);
}

/* Whether programs may have come up against the bounds of the text: registers had no place, and
 * went to memory. */
static bool is_tight(const struct ptx_probed *k, const struct probe_size *with)
{
	return k->bound && with->local_bytes && with->registers + REGISTERS_UNIT >= k->bound;
}

/* False: all of them are as they are. */
static bool read_with(const struct loader *l, struct image *i, void *handle)
{
	bool any = false, all = link_to_xpuprof.plan->measures;

	vec_foreach (k, &i->spliced.kernels) {
		struct image_size size = {0};

		if (all || k->bound)
			size.with = size_of(l, handle, k->name);
		if (!all && !is_tight(k, &size.with))
			size.with = (struct probe_size){0};
		any |= size.with.registers;
		if (vec_push(&i->sizes, size))
			return false;
	}
	return any;
}

void sizes_read(const struct loader *l, struct image *i, void *handle)
{
	if (read_with(l, i, handle) && !i->is_compiled)
		read_original(l, i);
}
