/* SPDX-License-Identifier: MIT */
/* What kernels of compute.cu compute, once for nvcc and once for the test that compares. */
#pragma once

#include <math.h>
#include <stdint.h>

#ifdef __CUDACC__
#define BOTH static __device__ inline
#else
#define BOTH static inline
#endif

#ifdef __CUDA_ARCH__
#define POPC(x)	    ((uint32_t)__popc(x))
#define CLZ(x)	    ((uint32_t)__clz((int)(x)))
#define REVERSED(x) __brev(x)
#define FIND(x)	    ((uint32_t)__ffs((int)(x)))
#define HIGH(a, b)  __umul64hi(a, b)
#else
#define POPC(x)	   ((uint32_t)__builtin_popcount(x))
#define CLZ(x)	   ((x) ? (uint32_t)__builtin_clz(x) : 32u)
#define FIND(x)	   ((uint32_t)__builtin_ffs((int)(x)))
#define HIGH(a, b) ((uint64_t)((unsigned __int128)(a) * (b) >> 64))
static inline uint32_t REVERSED(uint32_t x)
{
	uint32_t r = 0;

	for (int i = 0; i < 32; i++)
		r |= (x >> i & 1) << (31 - i);
	return r;
}
#endif

BOTH uint64_t mixed_integers(uint32_t a, uint32_t b)
{
	int32_t s = (int32_t)a, t = (int32_t)b;
	uint64_t x = (uint64_t)a << 32 | b, y = x * 0x9e3779b97f4a7c15ull + 12345, r = 0;
	int64_t u = (int64_t)y, v = s;
	uint8_t c = (uint8_t)a;
	int8_t d = (int8_t)b;
	int16_t e = (int16_t)(a >> 3);

	r += a / (b | 1) + a % (b | 1);
	r = r * 31 + (uint64_t)(int64_t)(s / (t | 1)) + (uint64_t)(int64_t)(s % (t | 1));
	r = r * 31 + y / (x | 1) + y % (x | 1);
	r = r * 31 + (uint64_t)(u / (v | 1)) + (uint64_t)(u % (v | 1));
	r = r * 31 + (a << (b & 31)) + (a >> (b & 31)) + (uint32_t)(s >> (b & 31));
	r = r * 31 + (y << (b & 63)) + (y >> (b & 63)) + (uint64_t)(u >> (b & 63));
	r = r * 31 + POPC(a) + CLZ(b) + REVERSED(a ^ b) + FIND(b);
	r = r * 31 + HIGH(x, y) + (uint64_t)((int64_t)s * t);
	r = r * 31 + (uint64_t)(c * d) + (uint64_t)(int64_t)(e * 7 + d);
	r = r * 31 + (s < t) + 2 * (a < b) + 4 * (u >= v) + (uint64_t)(s > t ? s : t);
	r = r * 31 + ((a >> 7 & 0x1ff) | (b & 0xf0f0f0f0)) + (~a & b) + (a ^ b ^ 0x55);
	r = r * 31 + (a << 13 | a >> 19) + (uint32_t)(s < 0 ? -s : s);
	return r;
}

BOTH double mixed_floats(float a, float b)
{
	float c = a * b + 1.5f, d = a / (b + 3.0f), e = sqrtf(fabsf(a)) - b;
	double f = (double)a * b, g = f / (1.0 + (double)b * b), h = sqrt(fabs(g));
	int64_t k = (int64_t)(int32_t)(c * 3.7f) + (int64_t)floorf(d) + (int64_t)ceilf(e) +
		    (uint32_t)fabsf(d);

	c = fmaf(a, b, d) + fminf(a, e) - fmaxf(b, -c);
	h = fma(f, g, h) + fmin(f, g) + trunc(h);
	return (double)c + h + (double)k + (a < b ? 0.5 : 0.25) + (double)(float)(int64_t)f +
	       (float)(uint32_t)k;
}
