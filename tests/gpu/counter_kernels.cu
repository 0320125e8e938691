// SPDX-License-Identifier: MIT
/*
 * Kernels whose hardware counters are known beforehand: one after the other, each alone, for --ms milliseconds (200), with
 * idle time between. Prints for each: its name, how often it was launched, and the bytes that one launch reads and writes
 * in the GPU's memory (0: few, or not known).
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <cuda_runtime.h>
#include <mma.h>
#include <unistd.h>

#define CHECK(call)                                                                                \
	do {                                                                                       \
		cudaError_t error_ = (call);                                                       \
		if (error_) {                                                                      \
			fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error_));            \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

/* Every byte once: as fast as memory is. */
__global__ void copy_rows(const float4 *from, float4 *to, size_t count)
{
	for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count; i += (size_t)gridDim.x * blockDim.x)
		to[i] = from[i];
}

__device__ void spin(long long cycles)
{
	for (long long begin = clock64(); clock64() - begin < cycles;)
		;
}

__global__ void full_occupancy(long long cycles)
{
	spin(cycles);
}

__global__ void quarter_occupancy(long long cycles)
{
	spin(cycles);
}

/* Reads what the L2 cache can keep, over and over, past the L1 cache. */
__global__ void read_l2(const float4 *from, float4 *to, size_t count, int rounds)
{
	float4 sum = {0, 0, 0, 0};

	for (int r = 0; r < rounds; r++)
		for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count; i += (size_t)gridDim.x * blockDim.x) {
			float4 v = __ldcg(&from[i]);

			sum.x += v.x + v.y + v.z + v.w;
		}
	if (sum.x == 12345)
		*to = sum;
}

/* Each block reads its own 16 KiB, over and over. */
__global__ void read_l1(const float4 *from, float4 *to, int rounds)
{
	const float4 *mine = from + blockIdx.x * 1024;
	float4 sum = {0, 0, 0, 0};

	for (int r = 0; r < rounds; r++)
		for (int i = threadIdx.x; i < 1024; i += blockDim.x) {
			float4 v = __ldca(&mine[i]);

			sum.x += v.x + v.y + v.z + v.w + r;
		}
	if (sum.x == 12345)
		*to = sum;
}

/* The addend comes from outside: nvcc loads constants with HFMA2.MMA, which the tensor pipes do. */
__global__ void fma_only(float *to, float addend, int rounds)
{
	float a[8];

	for (int n = 0; n < 8; n++)
		a[n] = threadIdx.x + n;
	for (int r = 0; r < rounds; r++)
#pragma unroll
		for (int n = 0; n < 8; n++)
			a[n] = a[n] * 0.999f + addend;
	for (int n = 1; n < 8; n++)
		a[0] += a[n];
	if (a[0] == 12345)
		*to = a[0];
}

__global__ void fp64_only(double *to, int rounds)
{
	double a[8];

	for (int n = 0; n < 8; n++)
		a[n] = threadIdx.x + n;
	for (int r = 0; r < rounds; r++)
#pragma unroll
		for (int n = 0; n < 8; n++)
			a[n] = a[n] * 0.999 + 1.5;
	for (int n = 1; n < 8; n++)
		a[0] += a[n];
	if (a[0] == 12345)
		*to = a[0];
}

__global__ void tensor_only(float *to, int rounds)
{
	using namespace nvcuda::wmma;
	fragment<matrix_a, 16, 16, 16, half, row_major> a;
	fragment<matrix_b, 16, 16, 16, half, col_major> b;
	fragment<accumulator, 16, 16, 16, float> c[4];

	fill_fragment(a, __float2half(0.5f));
	fill_fragment(b, __float2half(0.25f));
	for (int n = 0; n < 4; n++)
		fill_fragment(c[n], 0);
	for (int r = 0; r < rounds; r++)
		for (int n = 0; n < 4; n++)
			mma_sync(c[n], a, b, c[n]);
	for (int n = 0; n < 4; n++)
		if (c[n].x[0] == 12345)
			*to = c[n].x[0];
}

static double now_ms()
{
	timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e3 + t.tv_nsec * 1e-6;
}

static double run_ms = 200;

/* Launches until the time is up, two at a time, so that the GPU does not wait for us. */
template <typename Launch> static void run(const char *name, size_t read, size_t written, Launch launch)
{
	double end = now_ms() + run_ms;
	int count = 0;

	do {
		launch();
		launch();
		count += 2;
		CHECK(cudaGetLastError());
		CHECK(cudaDeviceSynchronize());
	} while (now_ms() < end);
	printf("%s %d %zu %zu\n", name, count, read, written);
	usleep(50000);
}

int main(int argc, char **argv)
{
	const size_t bytes = (size_t)4 << 30, count = bytes / sizeof(float4);
	const size_t l2_count = ((size_t)8 << 20) / sizeof(float4);
	float4 *from, *to;
	int sms, khz;

	if (argc == 3 && !strcmp(argv[1], "--ms"))
		run_ms = atof(argv[2]);
	CHECK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
	CHECK(cudaDeviceGetAttribute(&khz, cudaDevAttrClockRate, 0));
	CHECK(cudaMalloc(&from, bytes));
	CHECK(cudaMalloc(&to, bytes));
	CHECK(cudaMemset(from, 0, bytes));
	CHECK(cudaDeviceSynchronize());
	usleep(300000);
	const long long cycles = (long long)khz * 20;

	run("copy_rows", bytes, bytes, [&] { copy_rows<<<sms * 8, 512>>>(from, to, count); });
	run("full_occupancy", 0, 0, [&] { full_occupancy<<<sms * 2, 1024>>>(cycles); });
	run("quarter_occupancy", 0, 0, [&] { quarter_occupancy<<<sms, 512>>>(cycles); });
	run("read_l2", 0, 0, [&] { read_l2<<<sms * 2, 1024>>>(from, to, l2_count, 4000); });
	run("read_l1", 0, 0, [&] { read_l1<<<sms * 2, 1024>>>(from, to, 200000); });
	run("fma_only", 0, 0, [&] { fma_only<<<sms * 2, 1024>>>((float *)to, 1.5f, 200000); });
	run("fp64_only", 0, 0, [&] { fp64_only<<<sms * 2, 1024>>>((double *)to, 100000); });
	run("tensor_only", 0, 0, [&] { tensor_only<<<sms * 4, 256>>>((float *)to, 50000); });
	usleep(300000);
	return 0;
}
