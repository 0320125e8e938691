// SPDX-License-Identifier: MIT
static inline __attribute__((always_inline)) int twice(int a)
{
	return a * 2 + 1;
}

__attribute__((noinline)) static int helper(int a)
{
	return a * a - 3;
}

__kernel void tiny(__global int *out)
{
	out[0] = twice(out[1]);
}

__kernel void busy(__global int *out, int n)
{
	for (int i = 0; i < n; i++)
		out[i] = helper(out[i]) + twice(i);
}
