// SPDX-License-Identifier: MIT
/*
 * What tests/gpu/amd/run records: two kernels, copies and a graph, each from a function of its own.
 * Prints what it did: "kernel NAME COUNT", "copies COUNT", and the nanoseconds by events around all
 * launches of busy: "busy_ns N".
 */
#include <hip/hip_runtime.h>
#include <stdio.h>
#include <stdlib.h>

#define STEP	__attribute__((noinline, used))
#define ITEMS	(1 << 20)
#define BUSY	100
#define TOUCH	200
#define COPIES	50
#define GRAPHS	20

static void check(hipError_t error, const char *what)
{
	if (error == hipSuccess)
		return;
	fprintf(stderr, "%s: %s\n", what, hipGetErrorString(error));
	exit(1);
}

// lines of busy begin
__device__ static inline float step(float a, int i)
{
	return a * 1.0001f + sinf((float)i);
}

__global__ void busy(float *data, int rounds)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;
	float a = data[id];

	for (int i = 0; i < rounds; i++)
		a = step(a, i);
	data[id] = a;
}
// lines of busy end

__global__ void touch(float *data)
{
	data[blockIdx.x * blockDim.x + threadIdx.x] += 1;
}

STEP static int launch_busy(float *data, hipStream_t stream)
{
	busy<<<ITEMS / 256, 256, 0, stream>>>(data, 2000);
	check(hipGetLastError(), "busy");
	return 1;
}

STEP static int launch_touch(float *data, hipStream_t stream)
{
	touch<<<ITEMS / 256, 256, 0, stream>>>(data);
	check(hipGetLastError(), "touch");
	return 2;
}

STEP static int copy_something(float *data, const float *from, hipStream_t stream)
{
	check(hipMemcpyAsync(data, from, ITEMS * sizeof(*data), hipMemcpyHostToDevice, stream),
		"copy");
	return 3;
}

STEP static int launch_graph(hipGraphExec_t graph, hipStream_t stream)
{
	check(hipGraphLaunch(graph, stream), "graph");
	return 4;
}

static hipGraphExec_t capture(float *data, hipStream_t stream)
{
	hipGraphExec_t made;
	hipGraph_t graph;

	check(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal), "capture");
	launch_touch(data, stream);
	launch_touch(data, stream);
	check(hipStreamEndCapture(stream, &graph), "capture");
	check(hipGraphInstantiate(&made, graph, NULL, NULL, 0), "graph");
	return made;
}

int main(void)
{
	hipEvent_t begin, end;
	float *data, *host, ms;
	hipStream_t stream;
	hipGraphExec_t graph;

	check(hipMalloc((void **)&data, ITEMS * sizeof(*data)), "memory");
	check(hipHostMalloc((void **)&host, ITEMS * sizeof(*host), 0), "memory");
	check(hipStreamCreate(&stream), "stream");
	check(hipEventCreate(&begin), "event");
	check(hipEventCreate(&end), "event");
	graph = capture(data, stream);
	for (int n = 0; n < COPIES; n++)
		copy_something(data, host, stream);
	check(hipEventRecord(begin, stream), "event");
	for (int n = 0; n < BUSY; n++)
		launch_busy(data, stream);
	check(hipEventRecord(end, stream), "event");
	for (int n = 0; n < TOUCH; n++)
		launch_touch(data, stream);
	for (int n = 0; n < GRAPHS; n++)
		launch_graph(graph, stream);
	check(hipStreamSynchronize(stream), "wait");
	check(hipEventElapsedTime(&ms, begin, end), "event");
	printf("kernel busy(float*, int) %d\nkernel touch(float*) %d\ncopies %d\nbusy_ns %.0f\n", BUSY,
		TOUCH + 2 * GRAPHS, COPIES, ms * 1e6);
	return 0;
}
