// SPDX-License-Identifier: MIT
// Kernels whose PTX has each shape that a splicer meets. README.md says how shapes*.ptx are made of it.
#include <cuda_pipeline.h>

__constant__ int table[16];

extern "C" __global__ void vector_add(const float *a, const float *b, float *c, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		c[i] = a[i] + b[i];
}

/* Threads leave at several places. */
extern "C" __global__ void leave_early(int *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i & 1)
		return;
	out[i] = i;
	if (i > n)
		return;
	for (int k = 0; k < n; k++) {
		if (out[i] == k * 7)
			return;
		atomicAdd(out + k, i);
	}
	out[i] += table[i & 15];
}

/* Scopes inside of scopes, with registers of the same names, and returns in them. */
extern "C" __global__ void nested(unsigned int *out)
{
	unsigned int i = threadIdx.x;

	asm volatile("{ .reg .pred p; .reg .b32 t;\n"
		     "	setp.gt.u32 p, %0, 100; // a comment with a brace } and ret;\n"
		     "	{ .reg .b32 t; mov.b32 t, 5; /* exit; */ @p exit; }\n"
		     "	setp.eq.u32 p, %0, 50;\n"
		     "	@!p bra go;\n"
		     "	ret;\n"
		     "go:	mov.b32 t, 7; }" ::"r"(i));

	out[i] = i;
}

extern "C" __global__ void switches(int *out, int n)
{
	int i = threadIdx.x, v;

	switch (out[i] % 12) {
	case 0: v = out[n]; break;
	case 1: v = n * 3; break;
	case 2: v = out[n + 3] * out[5]; break;
	case 3: return;
	case 4: v = n ^ 17; break;
	case 5: v = __popc(n); break;
	case 6: v = __clz(n); break;
	case 7: v = n / 5; break;
	case 8: v = n % 7; break;
	case 9: v = out[9]; break;
	default: v = 1;
	}
	out[i] = v;
}

extern "C" __global__ void wide(const float4 *in, float4 *out, const double2 *d, volatile int *flag)
{
	int i = threadIdx.x;
	float4 v = in[i];
	double2 w = d[i];

	v.x += (float)w.x;
	v.y += (float)w.y;
	out[i] = v;
	*flag = 1;
	while (*flag == 2)
		;
}

extern "C" __global__ void cached(const int *__restrict__ in, int *out, short *s, char *c)
{
	int i = threadIdx.x, v = __ldg(in + i);

	v += __ldcs(in + i + 1) + __ldcg(in + i + 2);
#if __CUDA_ARCH__ >= 800
	asm volatile("{ .reg .b64 pol; createpolicy.fractional.L2::evict_first.b64 pol, 1.0; "
		     "ld.global.L2::cache_hint.b32 %0, [%1], pol; }" : "=r"(v) : "l"(in + v));
#endif
	__stwt(out + i, v);
	s[i] = (short)v;
	c[i] = (char)v;
	atomicMax(out + 3, v);
	atomicCAS(out + 4, 1, v);
	if (atomicExch(out + 5, v) == 7)
		__threadfence();
}

extern "C" __global__ void copied(const float4 *in, float4 *out)
{
	__shared__ float4 tile[128];

#if __CUDA_ARCH__ >= 800
	__pipeline_memcpy_async(&tile[threadIdx.x], &in[threadIdx.x], 16);
	__pipeline_commit();
	__pipeline_wait_prior(0);
#endif
	__syncthreads();
	out[threadIdx.x] = tile[127 - threadIdx.x];
}

/* A pointer of which the compiler cannot tell where it points. */
extern "C" __global__ void generic(int *out, int n)
{
	__shared__ int shared[64];
	int local[8], *p;

	for (int k = 0; k < 8; k++)
		local[k] = k * n;
	shared[threadIdx.x & 63] = n;
	__syncthreads();
	p = n == 3 ? out : n == 4 ? shared : local;
	p[n & 7] = 5;
	out[threadIdx.x] = p[threadIdx.x & 7] + local[n & 7];
}

struct packet {
	char tag[3];
	short pair[2];
	double weight[2];
};

extern "C" __global__ void __launch_bounds__(256, 2) parameters(char a, struct packet p, short b, float f, double d,
	const __grid_constant__ struct packet q, long long *out)
{
	out[threadIdx.x] = a + p.tag[1] + p.pair[1] + (long long)p.weight[1] + b + (long long)f + (long long)d + q.tag[2];
}

#if __CUDA_ARCH__ >= 900
#define CLUSTER __cluster_dims__(2, 1, 1)
#else
#define CLUSTER
#endif
extern "C" __global__ void CLUSTER cluster(int *out)
{
#if __CUDA_ARCH__ >= 900
	asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;");
#endif
	out[blockIdx.x] = 1;
}

__device__ __noinline__ int leaves(int i)
{
	if (i == 5)
		asm volatile("exit;");
	return i * 3;
}

extern "C" __global__ void calls(int *out)
{
	out[threadIdx.x] = leaves(threadIdx.x);
}

template <typename T> __global__ void scaled(T *out, T by)
{
	out[threadIdx.x] *= by;
}
template __global__ void scaled<float>(float *, float);
template __global__ void scaled<int>(int *, int);
