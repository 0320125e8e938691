/* SPDX-License-Identifier: MIT */
/* HIP for kill_target (gpu.h), linked with the simulated runtime. */
#pragma once

#include "hip.h"

typedef void *gpu_kernel;

static void *gpu_module;

GPU void gpu_check(const char *what, int result)
{
	if (!result)
		return;
	fprintf(stderr, "%s: error %d\n", what, result);
	exit(1);
}

GPU bool gpu_open(const char *program)
{
	gpu_check(program, hipModuleLoadData(&gpu_module, "count_a_us5"));
	return true;
}

GPU gpu_kernel gpu_get_kernel(const char *name)
{
	gpu_kernel kernel = NULL;

	gpu_check(name, hipModuleGetFunction(&kernel, gpu_module, name));
	return kernel;
}

GPU void gpu_launch(gpu_kernel kernel, void *stream)
{
	gpu_check(
		"launch", hipModuleLaunchKernel(kernel, 81, 1, 1, 64, 1, 1, 0, stream, NULL, NULL));
}

GPU void gpu_wait(void)
{
	gpu_check("wait", hipDeviceSynchronize());
}
