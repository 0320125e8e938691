// SPDX-License-Identifier: MIT
/*
 * Launches kernels of any names, all in one module, so that the simulated GPU shows of them what
 * was recorded on a real one (sim/cupti/code.h). Kernels take turns, so that those of different
 * names are between each other.
 *
 *	replay_target KERNEL=LAUNCHESxBLOCKS...
 */
#include "driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_KERNELS = 64, NAME_BYTES = 256, BLOCK_THREADS = 128 };

#define PTX_HEAD  ".version 6.0\n.target sm_52\n.address_size 64\n"
#define PTX_ENTRY ".visible .entry %s()\n{\n\tret;\n}\n"

struct replayed {
	char name[NAME_BYTES];
	unsigned int launches, blocks;
	CUfunction function;
};

static struct driver driver;

#define CHECK(call) driver_check(&driver, driver.call, #call, __FILE__, __LINE__)

static bool parse(const char *argument, struct replayed *ret)
{
	struct replayed k = {0};

	if (sscanf(argument, "%255[A-Za-z0-9_$]=%ux%u", k.name, &k.launches, &k.blocks) != 3)
		return false;
	*ret = k;
	return true;
}

static CUmodule load(struct replayed *kernels, int count)
{
	static char ptx[sizeof(PTX_HEAD) + MAX_KERNELS * (NAME_BYTES + sizeof(PTX_ENTRY))];
	size_t used = (size_t)snprintf(ptx, sizeof(ptx), PTX_HEAD);
	CUmodule module;

	for (int i = 0; i < count; i++)
		used += (size_t)snprintf(
			ptx + used, sizeof(ptx) - used, PTX_ENTRY, kernels[i].name);
	CHECK(cuModuleLoadData(&module, ptx));
	for (int i = 0; i < count; i++)
		CHECK(cuModuleGetFunction(&kernels[i].function, module, kernels[i].name));
	return module;
}

/* Its name and frame are to be seen in profiles. */
#ifdef __clang__
__attribute__((noinline))
#else
__attribute__((noinline, noclone))
#endif
static void
launch_kernel(const struct replayed *k)
{
	CHECK(cuLaunchKernel(
		k->function, k->blocks, 1, 1, BLOCK_THREADS, 1, 1, 0, NULL, NULL, NULL));
}

static void replay(const struct replayed *kernels, int count)
{
	bool more = true;

	for (unsigned int turn = 0; more; turn++) {
		more = false;
		for (int i = 0; i < count; i++) {
			if (turn < kernels[i].launches)
				launch_kernel(&kernels[i]);
			more |= turn + 1 < kernels[i].launches;
		}
	}
}

int main(int argc, char **argv)
{
	struct replayed kernels[MAX_KERNELS];
	int count = argc - 1;
	CUmodule module;
	CUcontext ctx;
	CUdevice dev;

	for (int i = 0; i < count; i++)
		if (i == MAX_KERNELS || !parse(argv[i + 1], &kernels[i])) {
			fprintf(stderr, "usage: replay_target KERNEL=LAUNCHESxBLOCKS...\n");
			return 2;
		}
	if (!driver_open(&driver, "replay_target"))
		return 1;
	CHECK(cuInit(0));
	CHECK(cuDeviceGet(&dev, 0));
	CHECK(cuDevicePrimaryCtxRetain(&ctx, dev));
	CHECK(cuCtxSetCurrent(ctx));
	module = load(kernels, count);
	replay(kernels, count);
	CHECK(cuCtxSynchronize());
	CHECK(cuModuleUnload(module));
	return 0;
}
