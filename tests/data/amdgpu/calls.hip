// SPDX-License-Identifier: MIT
// Calls that are inlined into one another, of two files; memory of groups, atomics, floating point.
#include "calls.h"

__attribute__((device, noinline)) float outside(float a, float b)
{
	return geometry::square_sum(a, b) * 1.5f;
}

template <typename T> DEVICE T middle(T a, int n)
{
	T sum = 0;

	for (int i = 0; i < n; i++)
		sum += geometry::square_sum(a, (T)i);
	return sum;
}

__attribute__((global)) void reduce(float *out, const float *in, int n)
{
	__attribute__((shared)) static float of_group[64];
	int id = __builtin_amdgcn_workitem_id_x();

	of_group[id] = middle(in[id], n);
	__builtin_amdgcn_s_barrier();
	if (id == 0)
		out[0] = outside(of_group[0], of_group[1]) + middle(of_group[2], 3);
	add_atomically(out, n);
}

__attribute__((global)) void empty(void)
{
}
