// SPDX-License-Identifier: MIT
// Small, for the ways to compile it: with full debug information, without any, by way of PTX without
// source lines, and linked with other.cu.
#include "steps.h"

__device__ __noinline__ float shared_function(float x)
{
	return x * 3 / (x - 1);
}

__global__ void shared_kernel(float *p)
{
	p[0] = shared_function(p[1]) + step(p[2], 2);
}
