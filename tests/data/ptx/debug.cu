// SPDX-License-Identifier: MIT
// Small, as PTX for debuggers is long.
__device__ __noinline__ int thrice(int i)
{
	return i * 3;
}

extern "C" __global__ void debugged(int *out, int n)
{
	int i = threadIdx.x;

	if (i > n)
		return;
	for (int k = 0; k < n; k++)
		out[i] += thrice(k);
}
