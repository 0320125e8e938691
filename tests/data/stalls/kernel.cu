// SPDX-License-Identifier: MIT
#include "math.h"

__device__ float load_tile(const float *from, int at) {
	float value = from[at]; /* <long> & "far" */
	return square(value);
}

/* The source that tests/helpers/stall_profile.c speaks of. */
template <int N>
__global__ void matmul(const float *a, const float *b, float *c, int n)
{
	int i = blockIdx.x * N + threadIdx.x;

	float left = load_tile(a, i);
	float right = load_tile(b, i);
	__syncthreads();
	c[i] = left * right;
}
