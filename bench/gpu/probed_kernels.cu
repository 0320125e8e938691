// SPDX-License-Identifier: MIT
/*
 * The kernels of probed_times.c, as probed_kernels.ptx:
 *
 *	nvcc -ptx -arch=compute_75 -o probed_kernels.ptx probed_kernels.cu
 */
#define TILE 32

extern "C" __global__ void add(const float *a, const float *b, float *c, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		c[i] = a[i] + b[i];
}

/* Half of the threads of each warp leave at once. */
extern "C" __global__ void early(const float *a, const float *b, float *c, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i >= n || i & 1)
		return;
	c[i] = a[i] + b[i];
}

/* c = a b, of n by n numbers; n is a multiple of TILE. */
extern "C" __global__ void matrix(const float *a, const float *b, float *c, int n)
{
	__shared__ float of_a[TILE][TILE], of_b[TILE][TILE];
	int row = blockIdx.x / (n / TILE) * TILE + threadIdx.x / TILE;
	int column = blockIdx.x % (n / TILE) * TILE + threadIdx.x % TILE;
	int y = threadIdx.x / TILE, x = threadIdx.x % TILE;
	float sum = 0;

	for (int k = 0; k < n; k += TILE) {
		of_a[y][x] = a[row * n + k + x];
		of_b[y][x] = b[(k + y) * n + column];
		__syncthreads();
		for (int i = 0; i < TILE; i++)
			sum += of_a[y][i] * of_b[i][x];
		__syncthreads();
	}
	c[row * n + column] = sum;
}

extern "C" __global__ void node(float *c)
{
	c[threadIdx.x] = 1;
}
