/* SPDX-License-Identifier: MIT */
/* OpenCL for kill_target (gpu.h): the first device of whatever implementation is installed. Exits
 * with 77 where there is none. */
#pragma once

#include "opencl_api.h"

typedef void *gpu_kernel;

static void *gpu_queue;

GPU bool gpu_open(const char *who)
{
	begin("__kernel void count_a_us5(__global float *a) { a[get_global_id(0)] += 1; }\n");
	gpu_queue = make_queue(0);
	return true;
}

GPU gpu_kernel gpu_get_kernel(const char *name)
{
	return make_kernel(name, 0);
}

GPU void gpu_launch(gpu_kernel kernel, void *stream)
{
	const size_t items = GPU_BLOCK * GPU_GRID, group = GPU_BLOCK;

	check("launch", cl.clEnqueueNDRangeKernel(
				gpu_queue, kernel, 1, NULL, &items, &group, 0, NULL, stream));
}

GPU void gpu_wait(void)
{
	check("wait", cl.clFinish(gpu_queue));
}
