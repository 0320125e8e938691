// SPDX-License-Identifier: MIT
/*
 * Marches rays through a scene of distance functions: small functions put into each other, many levels deep.
 *
 *	nvcc -O3 -std=c++17 -lineinfo -arch=native -o raymarch raymarch.cu
 *	xpuprof record --stalls -o raymarch.xpu -- ./raymarch
 */
#include <cstdio>
#include <cuda_runtime.h>

struct vec3 {
	float x, y, z;
};

__device__ inline vec3 operator+(vec3 a, vec3 b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
__device__ inline vec3 operator-(vec3 a, vec3 b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
__device__ inline vec3 operator*(vec3 a, float s) { return {a.x * s, a.y * s, a.z * s}; }
__device__ inline float dot(vec3 a, vec3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
__device__ inline float length(vec3 a) { return sqrtf(dot(a, a)); }
__device__ inline vec3 normalize(vec3 a) { return a * rsqrtf(dot(a, a)); }

struct sphere {
	vec3 center;
	float radius;
	__device__ float distance(vec3 p) const { return length(p - center) - radius; }
};

struct torus {
	vec3 center;
	float ring, tube;
	__device__ float distance(vec3 p) const
	{
		vec3 q = p - center;
		float around = sqrtf(q.x * q.x + q.z * q.z) - ring;

		return sqrtf(around * around + q.y * q.y) - tube;
	}
};

/* Waves over a shape: dear in special functions. */
template <typename Shape> struct waves {
	Shape shape;
	float height, frequency;
	__device__ float distance(vec3 p) const
	{
		float wave = __sinf(frequency * p.x) * __sinf(frequency * p.y) * __sinf(frequency * p.z);

		return shape.distance(p) + height * wave;
	}
};

template <typename A, typename B> struct smooth_union {
	A a;
	B b;
	float smoothness;
	__device__ float distance(vec3 p) const
	{
		float da = a.distance(p), db = b.distance(p);
		float h = fminf(fmaxf(0.5f + 0.5f * (db - da) / smoothness, 0.0f), 1.0f);

		return db + (da - db) * h - smoothness * h * (1 - h);
	}
};

using scene = smooth_union<waves<sphere>, smooth_union<torus, waves<torus>>>;

template <typename Shape> __device__ vec3 normal_of(const Shape &shape, vec3 p)
{
	const float e = 1e-3f;

	return normalize({shape.distance(p + vec3{e, 0, 0}) - shape.distance(p - vec3{e, 0, 0}),
		shape.distance(p + vec3{0, e, 0}) - shape.distance(p - vec3{0, e, 0}),
		shape.distance(p + vec3{0, 0, e}) - shape.distance(p - vec3{0, 0, e})});
}

template <typename Shape> __device__ bool march(const Shape &shape, vec3 from, vec3 direction, vec3 *hit)
{
	float t = 0;

	for (int step = 0; step < 96 && t < 20; step++) {
		vec3 p = from + direction * t;
		float distance = shape.distance(p);

		if (distance < 1e-3f) {
			*hit = p;
			return true;
		}
		t += distance * 0.7f;
	}
	return false;
}

/* The light comes from a table in global memory, at an address that depends on where the ray went. */
template <typename Shape>
__device__ float shade(const Shape &shape, const float *__restrict__ lights, unsigned light_count, vec3 hit)
{
	vec3 normal = normal_of(shape, hit);
	unsigned at = (unsigned)(fabsf(hit.x * 7919 + hit.y * 104729 + hit.z * 1299709)) % light_count;
	float sum = 0;

	for (int bounce = 0; bounce < 16; bounce++) {
		sum += lights[at] * fmaxf(dot(normal, {0.5f, 0.7f, -0.5f}), 0.1f);
		at = (at * 1664525u + __float_as_uint(sum)) % light_count;
	}
	return sum;
}

__global__ void render(scene shapes, const float *lights, unsigned light_count, float *image, int width, int height)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
	vec3 from = {0, 0, -5}, hit;
	vec3 direction = normalize({(x - width / 2) / (float)height, (y - height / 2) / (float)height, 1});

	if (x < width && y < height)
		image[y * width + x] =
			march(shapes, from, direction, &hit) ? shade(shapes, lights, light_count, hit) : 0;
}

static void render_frame(const scene &shapes, const float *lights, unsigned light_count, float *image)
{
	const int width = 1920, height = 1080;

	render<<<dim3((width + 15) / 16, (height + 15) / 16), dim3(16, 16)>>>(shapes, lights, light_count, image, width,
		height);
}

int main()
{
	const unsigned light_count = 1u << 26;
	float *lights, *image;
	cudaError_t error;

	if (cudaMalloc(&lights, light_count * sizeof(*lights)) || cudaMalloc(&image, 1920 * 1080 * sizeof(*image)) ||
		cudaMemset(lights, 0, light_count * sizeof(*lights))) {
		fprintf(stderr, "raymarch: no memory on the GPU\n");
		return 1;
	}
	for (int frame = 0; frame < 1500; frame++)
		render_frame({{{{0, 0, 0}, 1}, 0.1f, 9}, {{{0, 0, 0}, 1.6f, 0.25f}, {{{0, 1, 0}, 1.1f, 0.3f}, 0.05f, 13},
			0.2f}, 0.3f}, lights, light_count, image);
	error = cudaDeviceSynchronize();
	if (error)
		fprintf(stderr, "raymarch: %s\n", cudaGetErrorString(error));
	return error != cudaSuccess;
}
