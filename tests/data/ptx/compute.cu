// SPDX-License-Identifier: MIT
// Kernels whose results an interpreter has to match; tests/unit/sim_ptx_test.c computes the same in C.
#include "compute.h"

extern "C" __global__ void integers(const uint32_t *a, const uint32_t *b, uint64_t *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[i] = mixed_integers(a[i], b[i]);
}

extern "C" __global__ void floats(const float *a, const float *b, double *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[i] = mixed_floats(a[i], b[i]);
}

#define TILE 16

extern "C" __global__ void multiply(const float *a, const float *b, float *c, int n)
{
	__shared__ float x[TILE][TILE], y[TILE][TILE];
	int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
	float sum = 0;

	for (int k = 0; k < n; k += TILE) {
		x[threadIdx.y][threadIdx.x] = a[row * n + k + threadIdx.x];
		y[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + column];
		__syncthreads();
		for (int i = 0; i < TILE; i++)
			sum += x[threadIdx.y][i] * y[i][threadIdx.x];
		__syncthreads();
	}
	c[row * n + column] = sum;
}

/* By shuffles in a warp, by dynamic shared memory in a block, by an atomic over all. */
extern "C" __global__ void sum(const int *in, unsigned long long *out, int n)
{
	extern __shared__ int parts[];
	int i = blockIdx.x * blockDim.x + threadIdx.x, v = i < n ? in[i] : 0;

	for (int by = 16; by; by /= 2)
		v += __shfl_down_sync(0xffffffff, v, by);
	if (threadIdx.x % 32 == 0)
		parts[threadIdx.x / 32] = v;
	__syncthreads();
	if (threadIdx.x < 32) {
		v = threadIdx.x < blockDim.x / 32 ? parts[threadIdx.x] : 0;
		for (int by = 16; by; by /= 2)
			v += __shfl_xor_sync(0xffffffff, v, by);
		if (!threadIdx.x)
			atomicAdd(out, (unsigned long long)(long long)v);
	}
}

/* Threads leave at different places, and loop for different times. */
extern "C" __global__ void diverge(const int *in, int *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, v;

	if (i >= n)
		return;
	v = in[i];
	if (v % 5 == 0)
		return;
	while (v != 1) {
		v = v % 2 ? 3 * v + 1 : v / 2;
		if (out[i]++ == 40)
			return;
	}
	out[i] += 1000;
	if (__popc(__activemask()) == 0)
		out[i] = -1;
}

/* The lanes of a warp: ballots, matches, broadcasts, the lowest of a group. */
extern "C" __global__ void lanes(const int *in, unsigned int *out)
{
	int i = threadIdx.x, v = in[i];
	unsigned int odd = __ballot_sync(0xffffffff, v & 1), same = __match_any_sync(0xffffffff, v);
	int all;

	out[i * 8 + 0] = odd;
	out[i * 8 + 1] = same;
	out[i * 8 + 2] = __shfl_sync(0xffffffff, v, v & 31);
	out[i * 8 + 3] = __shfl_up_sync(0xffffffff, v, 3, 8);
	out[i * 8 + 4] = __any_sync(0xffffffff, v == 7) + 2 * __all_sync(0xffffffff, v < 100);
	out[i * 8 + 5] = __match_all_sync(0xffffffff, v >> 8, &all) + all;
	if (v & 1)
		out[i * 8 + 6] = __activemask();
	else
		out[i * 8 + 6] = __popc(__ballot_sync(~odd, v & 2));
	out[i * 8 + 7] = __ffs(same) - 1 == (i & 31);
}

/* Lanes of one warp wait for each other; they have to go on by themselves. */
extern "C" __global__ void lock(int *word, int *count)
{
	while (atomicCAS(word, 0, 1))
		;
	*(volatile int *)count = *(volatile int *)count + 1;
	__threadfence();
	atomicExch(word, 0);
}

struct pair {
	long long a;
	int b[3];
};

__constant__ struct pair table[4] = {{1, {2, 3, 4}}, {5, {6, 7, 8}}, {-9, {-10, -11, -12}}, {13, {14, 15, 16}}};
__device__ int counter = 100;
__device__ int *pointer = &counter;

__device__ __noinline__ struct pair scaled(struct pair p, int by)
{
	p.a *= by;
	for (int k = 0; k < 3; k++)
		p.b[k] += by;
	return p;
}

__device__ __noinline__ int fibonacci(int n)
{
	return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

/* Calls with structs, recursion, an array of its own, variables of the module. */
extern "C" __global__ void calls(long long *out, struct pair q, short by)
{
	int i = threadIdx.x, own[8];
	struct pair p = scaled(table[i & 3], by);

	for (int k = 0; k < 8; k++)
		own[(k * 3 + i) & 7] = k * k;
	atomicAdd(pointer, i);
	out[i] = p.a + p.b[i % 3] + q.a * q.b[2] + fibonacci(i & 7) + own[i & 7] * 1000;
}

/* Reads behind what it was given. */
extern "C" __global__ void outside(const int *in, int *out)
{
	out[threadIdx.x] = in[threadIdx.x * 2];
}
