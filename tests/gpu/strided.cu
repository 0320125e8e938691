// SPDX-License-Identifier: MIT
/*
 * Copies with a stride, of which it is known how many lines of 128 bytes a warp asks for: a program by itself,
 *
 *	strided STRIDE
 *
 * which checks its results and prints its kernel's name, launches, blocks of a launch and threads of a block; and as a
 * library, `strided_copy` for torch_strided.py, as extensions of PyTorch have their own kernels.
 */
#include <cstdio>
#include <cstdlib>
#include <vector>

enum { BLOCKS = 24, THREADS = 128, COUNT = BLOCKS * THREADS, LAUNCHES = 5 };

extern "C" __global__ void strided(const float *from, float *to, int stride)
{
	int i = (blockIdx.x * blockDim.x + threadIdx.x) * stride;

	to[i] = from[i];
}

extern "C" int strided_copy(const float *from, float *to, int blocks, int threads, int stride, cudaStream_t stream)
{
	strided<<<blocks, threads, 0, stream>>>(from, to, stride);
	return cudaGetLastError();
}

#define OK(call)                                                                                                                 \
	do {                                                                                                                     \
		if (cudaError_t error = (call)) {                                                                                \
			fprintf(stderr, "strided: " #call ": %s\n", cudaGetErrorString(error));                                 \
			exit(1);                                                                                                 \
		}                                                                                                                \
	} while (0)

int main(int argc, char **argv)
{
	int stride = argc > 1 ? atoi(argv[1]) : 1;
	std::vector<float> numbers((size_t)COUNT * stride), got(numbers.size());
	size_t bytes = numbers.size() * sizeof(float);
	float *from, *to;

	for (size_t i = 0; i < numbers.size(); i++)
		numbers[i] = (float)(i + 1);
	OK(cudaMalloc(&from, bytes));
	OK(cudaMalloc(&to, bytes));
	OK(cudaMemset(to, 0, bytes));
	OK(cudaMemcpy(from, numbers.data(), bytes, cudaMemcpyHostToDevice));
	for (int n = 0; n < LAUNCHES; n++)
		OK((cudaError_t)strided_copy(from, to, BLOCKS, THREADS, stride, nullptr));
	OK(cudaMemcpy(got.data(), to, bytes, cudaMemcpyDeviceToHost));
	for (size_t i = 0; i < got.size(); i++)
		if (got[i] != (i % stride ? 0 : numbers[i]))
			return 3;
	printf("strided %d %d %d\n", LAUNCHES, BLOCKS, THREADS);
	return 0;
}
