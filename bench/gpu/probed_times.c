// SPDX-License-Identifier: MIT
/*
 * Kernels that are launched back to back, for what programs in them cost (probes.py):
 *
 *	probed_times PTX KERNEL THREADS LAUNCHES [SECONDS]
 *
 * KERNEL: add, early, matrix (of so many rows as THREADS) or node, in a graph of a hundred. It
 * waits for so long between warming up and measuring. Prints the microseconds a launch (of the
 * graph: a node) took, how often the kernel ran in all, and in how many threads each time; or fails
 * where the result is not what it is without programs, bit by bit.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "driver.h"

enum { BLOCK = 256, TILES = 1024, NODES = 100, TEXT_BYTES = 1 << 20 };

static struct driver d;

#define OK(call) driver_check(&d, call, #call, __FILE__, __LINE__)

struct run {
	const char *kernel;
	CUfunction function;
	CUgraphExec graph; /* or NULL */
	unsigned int blocks, threads;
	long count; /* launches, or replays */
	size_t numbers;
	CUdeviceptr memory[3];
	int n;
};

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static char *read_text(const char *path)
{
	FILE *f = fopen(path, "r");
	char *text = calloc(1, TEXT_BYTES);

	if (!f || !text || !fread(text, 1, TEXT_BYTES - 1, f)) {
		fprintf(stderr, "probed_times: cannot read '%s'\n", path);
		exit(1);
	}
	fclose(f);
	return text;
}

static void launch(struct run *r, CUstream stream)
{
	void *numbers[] = {&r->memory[0], &r->memory[1], &r->memory[2], &r->n};
	void *one[] = {&r->memory[2]};
	bool is_node = !strcmp(r->kernel, "node");

	OK(d.cuLaunchKernel(r->function, r->blocks, 1, 1, r->threads, 1, 1, 0, stream,
		is_node ? one : numbers, NULL));
}

static void make_graph(struct run *r)
{
	CUstream stream;
	CUgraph graph;

	OK(d.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	OK(d.cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	for (int i = 0; i < NODES; i++)
		launch(r, stream);
	OK(d.cuStreamEndCapture(stream, &graph));
	OK(d.cuGraphInstantiateWithFlags(&r->graph, graph, 0));
}

static double time_of(struct run *r, long count)
{
	double start = now_us();

	for (long i = 0; i < count; i++) {
		if (r->graph)
			OK(d.cuGraphLaunch(r->graph, NULL));
		else
			launch(r, NULL);
	}
	OK(d.cuCtxSynchronize());
	return (now_us() - start) / (double)count;
}

/* Whole numbers, so that sums are the same in any order. */
static float number(size_t i)
{
	return (float)(i % 7);
}

static void fill(struct run *r)
{
	float *numbers = malloc(r->numbers * sizeof(float));

	for (size_t i = 0; numbers && i < r->numbers; i++)
		numbers[i] = number(i);
	if (!numbers)
		exit(1);
	for (int i = 0; i < 3; i++) {
		OK(d.cuMemAlloc_v2(&r->memory[i], r->numbers * sizeof(float)));
		OK(d.cuMemcpyHtoD_v2(r->memory[i], numbers, r->numbers * sizeof(float)));
	}
	free(numbers);
}

static float wanted(const struct run *r, size_t i)
{
	size_t n = (size_t)r->n, row = i / n, column = i % n;
	float sum = 0;

	if (!strcmp(r->kernel, "node"))
		return i < r->threads ? 1 : number(i);
	if (!strcmp(r->kernel, "early") && i % 2)
		return number(i);
	if (strcmp(r->kernel, "matrix") != 0)
		return number(i) + number(i);
	for (size_t k = 0; k < n; k++)
		sum += number(row * n + k) * number(k * n + column);
	return sum;
}

/* All numbers, or of a matrix some in each row. */
static bool is_right(const struct run *r)
{
	size_t step = !strcmp(r->kernel, "matrix") ? 1021 : 1;
	float *numbers = malloc(r->numbers * sizeof(float));
	bool right = numbers != NULL;

	if (right)
		OK(d.cuMemcpyDtoH_v2(numbers, r->memory[2], r->numbers * sizeof(float)));
	for (size_t i = 0; right && i < r->numbers; i += step)
		right = numbers[i] == wanted(r, i);
	free(numbers);
	return right;
}

static void shape(struct run *r, long threads)
{
	bool is_matrix = !strcmp(r->kernel, "matrix");

	r->n = (int)threads;
	r->numbers = (size_t)threads * (is_matrix ? (size_t)threads : 1);
	r->threads = is_matrix ? TILES : threads < BLOCK ? (unsigned int)threads : BLOCK;
	r->blocks = (unsigned int)((r->numbers + r->threads - 1) / r->threads);
}

static void open_driver(void)
{
	CUcontext context;
	CUdevice device;

	if (!driver_open(&d, "probed_times"))
		exit(1);
	OK(d.cuInit(0));
	OK(d.cuDeviceGet(&device, 0));
	OK(d.cuDevicePrimaryCtxRetain(&context, device));
	OK(d.cuCtxSetCurrent(context));
}

int main(int argc, char **argv)
{
	struct run r = {0};
	CUmodule module;
	double took_us;
	long per_count;

	if (argc < 5) {
		fprintf(stderr, "usage: probed_times PTX KERNEL THREADS LAUNCHES [SECONDS]\n");
		return 2;
	}
	r.kernel = argv[2];
	shape(&r, strtol(argv[3], NULL, 10));
	r.count = strtol(argv[4], NULL, 10);
	open_driver();
	OK(d.cuModuleLoadData(&module, read_text(argv[1])));
	OK(d.cuModuleGetFunction(&r.function, module, r.kernel));
	fill(&r);
	if (!strcmp(r.kernel, "node"))
		make_graph(&r);
	per_count = r.graph ? NODES : 1;
	(void)time_of(&r, r.count / 10 + 1);
	sleep(argc > 5 ? (unsigned int)strtol(argv[5], NULL, 10) : 0);
	took_us = time_of(&r, r.count) / (double)per_count;
	if (!is_right(&r)) {
		fprintf(stderr, "probed_times: a result is wrong\n");
		return 3;
	}
	printf("%.3f us, %ld times, %u threads\n", took_us,
		(r.count + r.count / 10 + 1) * per_count, r.blocks * r.threads);
	return 0;
}
