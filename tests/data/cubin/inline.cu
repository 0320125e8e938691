// SPDX-License-Identifier: MIT
// Kernels with what compilers do to functions: deep inlining, templates, lambdas, functions that are
// called, recursion, function pointers, and routines that the compiler brings along.
#include <cstdio>

#include "steps.h"

// On lines of their own: PTX names the place of a call by file, line and column alone.
#define RUNG(above, below) \
	__device__ __forceinline__ float rung##above(float x, const float *p) \
	{ \
		return p[above] + rung##below(x * p[above] + above, p); \
	}

__device__ __forceinline__ float rung0(float x, const float *p)
{
	return x + p[0];
}
RUNG(1, 0)
RUNG(2, 1)
RUNG(3, 2)
RUNG(4, 3)
RUNG(5, 4)
RUNG(6, 5)
RUNG(7, 6)
RUNG(8, 7)

__device__ __noinline__ float called(float x, int n)
{
	return steps(x, n) / (x + 1);
}

__device__ __noinline__ int fibonacci(int n)
{
	return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

extern "C" __global__ void plain_name(float *p, int n)
{
	p[threadIdx.x] = steps(p[threadIdx.x], n) + called(p[threadIdx.x + 1], n);
}

__global__ void climber(float *p)
{
	p[threadIdx.x] = rung8(p[threadIdx.x], p + 32);
}

template <typename F> __global__ void apply(float *p, F f)
{
	p[threadIdx.x] = f(p[threadIdx.x]);
}

__global__ void talker(int *p, long a, long b)
{
	p[threadIdx.x] = fibonacci(p[threadIdx.x]) + (int)(a / b);
	printf("%d\n", p[0]);
}

typedef float (*chosen)(float, int);
__device__ chosen choices[2] = {called, called};

__global__ void chooser(float *p, int i)
{
	p[0] = choices[i](p[1], i) / p[2];
}

void instantiate(float *p)
{
	apply<<<1, 1>>>(p, [=] __device__(float x) { return x * 2 + rsqrtf(x); });
}
