// SPDX-License-Identifier: MIT
// Is linked with shared.cu, whose function it calls.
#include "steps.h"

extern __device__ float shared_function(float x);

__device__ __forceinline__ float beside(float x)
{
	return shared_function(x) + step(x + 2, 3);
}

__global__ void other_kernel(float *p)
{
	p[0] = beside(p[1]) + step(p[2], 4);
}
