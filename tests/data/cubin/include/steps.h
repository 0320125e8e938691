// SPDX-License-Identifier: MIT
// In a folder of its own, so that one kernel has lines of files in two folders.
#pragma once

template <typename T> __device__ __forceinline__ T step(T x, int i)
{
	return x * i + sqrtf(x);
}

template <typename T> __device__ __forceinline__ T steps(T x, int n)
{
	T sum = 0;

	for (int i = 0; i < n; i++)
		sum += step(x, i);
	return sum;
}
