// SPDX-License-Identifier: MIT
/*
 * The demo's kernels (demo/kernels.h) as a program would have them in CUDA C++, with calls to be inlined and one that is
 * not: train.cubin is what the simulator shows as their image. Made by ./make.
 */

__device__ __forceinline__ float dot_step(const float *left, const float *right, unsigned at, float sum)
{
	return fmaf(left[at], right[at], sum);
}

__device__ __noinline__ float exponential(float x)
{
	float sum = 1.0f, term = 1.0f;

	for (int i = 1; i < 12; i++) {
		term *= x / i;
		sum += term;
	}
	return sum;
}

__device__ __forceinline__ unsigned place(unsigned count)
{
	return (blockIdx.x * blockDim.x + threadIdx.x) & (count - 1);
}

#define KERNEL(name)                                                                               \
	extern "C" __global__ void name(float *out, const float *left, const float *right,         \
		unsigned count, unsigned rounds)

KERNEL(matmul_tiled)
{
	__shared__ float tile[256];
	unsigned at = place(count);
	float sum = out[at];

#pragma unroll 1
	for (unsigned i = 0; i < rounds; i++) {
		tile[threadIdx.x & 255] = left[(at + i) & (count - 1)];
		__syncthreads();
		sum = dot_step(tile, right, (at + i) & 255, sum);
		__syncthreads();
	}
	out[at] = sum;
}

KERNEL(matmul_backward_weights)
{
	unsigned at = place(count);
	float sum = 0;

#pragma unroll 1
	for (unsigned i = 0; i < rounds; i++)
		sum = dot_step(left, right, (at + i) & (count - 1), sum);
	out[at] = sum;
}

KERNEL(matmul_backward_input)
{
	unsigned at = place(count);
	float sum = 0;

#pragma unroll 1
	for (unsigned i = 0; i < rounds; i++)
		sum = dot_step(right, left, (at ^ i) & (count - 1), sum);
	out[at] = sum;
}

KERNEL(softmax_rows)
{
	unsigned at = place(count);

	out[at] = exponential(left[at]) / (1.0f + right[at]);
}

KERNEL(layer_norm)
{
	unsigned at = place(count);
	float x = left[at];

	out[at] = x * rsqrtf(fmaf(x, x, right[at]));
}

KERNEL(gelu_activation)
{
	unsigned at = place(count);
	float x = left[at];

	out[at] = x / (1.0f + exponential(-1.702f * x));
}

KERNEL(cross_entropy_loss)
{
	unsigned at = place(count);

	atomicAdd(&out[0], -logf(left[at] + right[at]));
}

KERNEL(adam_update)
{
	unsigned at = place(count);
	float gradient = right[at];

	out[at] -= 0.001f * left[at] / (sqrtf(gradient * gradient) + 1e-8f);
}
