/* SPDX-License-Identifier: MIT */
/*
 * Level Zero for kill_target (gpu.h), linked with the simulated loader: the kernel is "tiny" of the
 * zebin that $KILL_ZEBIN names, whatever it is called.
 */
#pragma once

#include <string.h>

#include "levelzero.h"

#define GPU_ZEBIN_MAX (1u << 20)

typedef void *gpu_kernel;

static struct {
	void *driver, *device, *context, *list, *module;
	uint8_t image[GPU_ZEBIN_MAX];
} gpu;

GPU void gpu_check(const char *what, int32_t result)
{
	if (!result)
		return;
	fprintf(stderr, "%s: error %#x\n", what, (unsigned int)result);
	exit(1);
}

GPU bool gpu_open(const char *program)
{
	const char *path = getenv("KILL_ZEBIN");
	FILE *f = path ? fopen(path, "rb") : NULL;
	struct sim_module_desc desc = {.stype = 0x1b, .format = 1, .input = gpu.image};
	uint32_t one = 1;

	if (!f)
		return false;
	desc.size = fread(gpu.image, 1, sizeof(gpu.image), f);
	fclose(f);
	gpu_check("zeInit", zeInit(0));
	gpu_check("driver", zeDriverGet(&one, &gpu.driver));
	gpu_check("device", zeDeviceGet(gpu.driver, &one, &gpu.device));
	gpu_check("context", zeContextCreate(gpu.driver, NULL, &gpu.context));
	gpu_check("list", zeCommandListCreateImmediate(gpu.context, gpu.device, NULL, &gpu.list));
	gpu_check("module", zeModuleCreate(gpu.context, gpu.device, &desc, &gpu.module, NULL));
	return true;
}

GPU gpu_kernel gpu_get_kernel(const char *name)
{
	const struct levelzero_kernel_desc desc = {.stype = 0x1d, .name = "tiny"};
	gpu_kernel kernel = NULL;

	gpu_check(name, zeKernelCreate(gpu.module, &desc, &kernel));
	return kernel;
}

GPU void gpu_launch(gpu_kernel kernel, void *stream)
{
	const struct levelzero_group_count count = {{1, 1, 1}};

	gpu_check("launch",
		zeCommandListAppendLaunchKernel(gpu.list, kernel, &count, NULL, 0, stream));
}

GPU void gpu_wait(void)
{
	gpu_check("wait", zeCommandListHostSynchronize(gpu.list, UINT64_MAX));
}
