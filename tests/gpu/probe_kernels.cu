// SPDX-License-Identifier: MIT
/*
 * Kernels of the CUDA runtime with known launches, for probes in them: what nvcc makes of them has
 * barriers behind early returns, cooperative and cluster launches, and graphs. It checks each result
 * and prints one line for each kernel: its name, launches, blocks of a launch and threads of a block.
 */
#include <cooperative_groups.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace cg = cooperative_groups;

enum { BLOCKS = 33, THREADS = 160, COUNT = BLOCKS * THREADS, ROUNDS = 7, REPLAYS = 5 };

static int *out;
static cudaStream_t stream;

static void check(cudaError_t error, const char *call)
{
	if (!error)
		return;
	fprintf(stderr, "probe_kernels: %s: %s\n", call, cudaGetErrorString(error));
	exit(1);
}

#define OK(call) check(call, #call)

extern "C" __global__ void plain(int *out)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	out[i] = 3 * i + 1;
}

extern "C" __global__ void half_leaves(int *out)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i & 1)
		return;
	out[i] = 3 * i + 1;
}

/* A part of a warp leaves, and what is left of the block meets again and again: `left` of its
 * threads shift what they have around. */
extern "C" __global__ void leaves_before_barriers(int *out, int left)
{
	__shared__ int a[THREADS];
	int t = threadIdx.x, v;

	if (t >= left)
		return;
	a[t] = t;
	for (int k = 0; k < left; k++) {
		__syncthreads();
		v = a[(t + 1) % left];
		__syncthreads();
		a[t] = v;
	}
	out[blockIdx.x * blockDim.x + t] = a[t];
}

/* Threads leave from inside of a loop with a barrier, a warp of them at a time. */
extern "C" __global__ void leaves_in_barriers(int *out)
{
	int t = threadIdx.x;

	for (int k = 0;; k++) {
		if (t / 32 == k)
			return;
		out[blockIdx.x * blockDim.x + t] = k;
		__syncthreads();
	}
}

extern "C" __global__ void cooperative(int *out)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, all = gridDim.x * blockDim.x;

	out[i] = i;
	cg::this_grid().sync();
	if (!i)
		for (int k = 1; k < all; k++)
			out[0] += out[k];
}

/* In clusters of three blocks: each reads a word of the next. */
extern "C" __global__ void clustered(int *out)
{
#if __CUDA_ARCH__ >= 900
	__shared__ int mine;
	cg::cluster_group cluster = cg::this_cluster();

	if (!threadIdx.x)
		mine = blockIdx.x;
	cluster.sync();
	out[blockIdx.x * blockDim.x + threadIdx.x] = *cluster.map_shared_rank(&mine, (cluster.block_rank() + 1) % 3);
	cluster.sync();
#endif
}

static void expect(const char *name, int (*value)(int))
{
	std::vector<int> got(COUNT);

	OK(cudaStreamSynchronize(stream));
	OK(cudaMemcpy(got.data(), out, COUNT * sizeof(int), cudaMemcpyDeviceToHost));
	for (int i = 0; i < COUNT; i++)
		if (got[i] != value(i)) {
			fprintf(stderr, "probe_kernels: %s: %d at %d, not %d\n", name, got[i], i, value(i));
			exit(3);
		}
	OK(cudaMemset(out, 0, COUNT * sizeof(int)));
}

static void said(const char *name, int launches)
{
	printf("%s %d %d %d\n", name, launches, BLOCKS, THREADS);
}

static int of_plain(int i) { return 3 * i + 1; }
static int of_half(int i) { return i & 1 ? 0 : 3 * i + 1; }
static int of_before_barriers(int i) { return i % THREADS < 77 ? i % THREADS : 0; }
static int of_in_barriers(int i) { return i % THREADS / 32 > 0 ? i % THREADS / 32 - 1 : 0; }
static int of_cooperative(int i) { return i ? i : COUNT / 2 * (COUNT - 1); }
static int of_clustered(int i)
{
	int block = i / THREADS;

	return block / 3 * 3 + (block % 3 + 1) % 3;
}

static void run_simple(void)
{
	for (int r = 0; r < ROUNDS; r++) {
		plain<<<BLOCKS, THREADS, 0, stream>>>(out);
		expect("plain", of_plain);
		half_leaves<<<BLOCKS, THREADS, 0, stream>>>(out);
		expect("half_leaves", of_half);
		leaves_before_barriers<<<BLOCKS, THREADS, 0, stream>>>(out, 77);
		expect("leaves_before_barriers", of_before_barriers);
		leaves_in_barriers<<<BLOCKS, THREADS, 0, stream>>>(out);
		expect("leaves_in_barriers", of_in_barriers);
	}
	said("half_leaves", ROUNDS);
	said("leaves_before_barriers", ROUNDS);
	said("leaves_in_barriers", ROUNDS);
}

static void run_graph(void)
{
	cudaGraphExec_t exec;
	cudaGraph_t graph;

	OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	plain<<<BLOCKS, THREADS, 0, stream>>>(out);
	OK(cudaStreamEndCapture(stream, &graph));
	OK(cudaGraphInstantiate(&exec, graph, 0));
	for (int r = 0; r < REPLAYS; r++) {
		OK(cudaGraphLaunch(exec, stream));
		expect("plain in a graph", of_plain);
	}
	said("plain", ROUNDS + REPLAYS);
}

static void run_cooperative(void)
{
	void *params[] = {&out};

	for (int r = 0; r < ROUNDS; r++) {
		OK(cudaLaunchCooperativeKernel((void *)cooperative, BLOCKS, THREADS, params, 0, stream));
		expect("cooperative", of_cooperative);
	}
	said("cooperative", ROUNDS);
}

static void run_clustered(void)
{
	cudaLaunchConfig_t config = {};
	cudaLaunchAttribute cluster = {};
	int major = 0;

	cluster.id = cudaLaunchAttributeClusterDimension;
	cluster.val.clusterDim.x = 3;
	cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
	config.gridDim = BLOCKS;
	config.blockDim = THREADS;
	config.stream = stream;
	config.attrs = &cluster;
	config.numAttrs = 1;
	OK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
	if (major < 9)
		return;
	for (int r = 0; r < ROUNDS; r++) {
		OK(cudaLaunchKernelEx(&config, clustered, out));
		expect("clustered", of_clustered);
	}
	said("clustered", ROUNDS);
}

int main()
{
	OK(cudaMalloc(&out, COUNT * sizeof(int)));
	OK(cudaMemset(out, 0, COUNT * sizeof(int)));
	OK(cudaStreamCreate(&stream));
	run_simple();
	run_graph();
	run_cooperative();
	run_clustered();
	return 0;
}
