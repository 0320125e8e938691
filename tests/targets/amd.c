// SPDX-License-Identifier: MIT
/*
 * A program that uses HIP, linked with its runtime. The first argument says what it does:
 *
 *	truth		launches kernels from several threads, each in streams of its own and on one of the
 *			GPUs, in both ways and by graphs, copies and fills; prints "NAME COUNT NANOSECONDS", as
 *			the simulated GPUs take
 *	copies		copies that wait, of which each is three calls of the API
 *	failed		launches that fail, and some that do not; prints how many did
 *	many COUNT	launches so many, and waits now and then
 *	sites		launches one kernel from two functions, with different numbers of groups, in turn
 *	fork		launches, forks a child that launches, too, and launches again
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hip.h"

#define STEP __attribute__((noinline, used))

enum { THREADS = 4, ROUNDS = 50, LARGE = 100, GRAPH_GROUPS = 7, BYTES = 40960 };

static void *large, *node;
static const char small; /* what programs know a kernel by that is compiled with them */

static void check(const char *what, int result)
{
	if (!result)
		return;
	fprintf(stderr, "%s: error %d\n", what, result);
	exit(1);
}

static void begin(void)
{
	void **modules = __hipRegisterFatBinary(NULL), *module;

	__hipRegisterFunction(modules, &small, NULL, "small", 0, NULL, NULL, NULL, NULL, NULL);
	check("module", hipModuleLoadData(&module, "_Z5largePf node"));
	check("function", hipModuleGetFunction(&large, module, "_Z5largePf"));
	check("function", hipModuleGetFunction(&node, module, "node"));
}

static void *make_stream(void)
{
	void *stream;

	check("stream", hipStreamCreate(&stream));
	return stream;
}

static int launch(void *kernel, uint32_t groups, void *stream)
{
	check("launch",
		hipModuleLaunchKernel(kernel, groups, 1, 1, 64, 2, 1, 1024, stream, NULL, NULL));
	return 1;
}

STEP static int launch_large(void *stream)
{
	return launch(large, LARGE, stream) + 1;
}

STEP static int launch_small(void *stream)
{
	const struct hip_dim3 one = {1, 1, 1}, items = {32, 1, 1};

	check("launch", hipLaunchKernel(&small, one, items, NULL, 0, stream));
	return 2;
}

STEP static int copy_something(void *stream)
{
	static __thread char from[BYTES], to[BYTES];

	check("copy", hipMemcpyAsync(to, from, BYTES, HIP_HOST_TO_DEVICE, stream));
	check("copy", hipMemcpyAsync(to, from, BYTES, HIP_DEVICE_TO_HOST, stream));
	check("fill", hipMemsetAsync(to, 0, BYTES, stream));
	return 1;
}

STEP static int wait_for_stream(void *stream)
{
	check("wait", hipStreamSynchronize(stream));
	return 1;
}

STEP static int wait_for_event(void *stream)
{
	void *event;

	check("event", hipEventCreate(&event));
	check("record", hipEventRecord(event, stream));
	check("wait", hipEventSynchronize(event));
	return 1;
}

/* A graph of two kernels. */
STEP static void *capture(void *stream)
{
	void *graph, *made;

	check("capture", hipStreamBeginCapture(stream, 0));
	launch(node, GRAPH_GROUPS, stream);
	launch(node, GRAPH_GROUPS, stream);
	check("capture", hipStreamEndCapture(stream, &graph));
	check("graph", hipGraphInstantiate(&made, graph, NULL, NULL, 0));
	return made;
}

STEP static int launch_graph(void *graph, void *stream)
{
	check("graph", hipGraphLaunch(graph, stream));
	return 1;
}

static void *work(void *number)
{
	void *stream, *graph;

	check("device", hipSetDevice((int)(intptr_t)number % SIM_AMD_DEVICES));
	stream = make_stream();
	graph = capture(stream);
	for (int n = 0; n < ROUNDS; n++) {
		launch_large(stream);
		launch_small(n % 2 ? stream : NULL);
		copy_something(stream);
		launch_graph(graph, stream);
		if (n % 2)
			wait_for_stream(stream);
		else
			wait_for_event(stream);
	}
	check("wait", hipDeviceSynchronize());
	wait_for_stream(stream);
	return NULL;
}

static void say(const char *name, unsigned long long count, unsigned long long each_ns)
{
	printf("%s %llu %llu\n", name, count, count * each_ns);
}

static int truth(void)
{
	pthread_t threads[THREADS];

	for (intptr_t n = 0; n < THREADS; n++)
		if (pthread_create(&threads[n], NULL, work, (void *)n))
			return 1;
	for (int n = 0; n < THREADS; n++)
		pthread_join(threads[n], NULL);
	say("_Z5largePf", THREADS * ROUNDS, SIM_AMD_KERNEL_NS(LARGE));
	say(SIM_AMD_FILL, THREADS * ROUNDS, SIM_AMD_KERNEL_NS(SIM_AMD_GROUPS));
	say("node", 2 * THREADS * ROUNDS, SIM_AMD_KERNEL_NS(GRAPH_GROUPS));
	say("small", THREADS * ROUNDS, SIM_AMD_KERNEL_NS(1));
	say("copies", 2 * THREADS * ROUNDS, SIM_AMD_COPY_NS(BYTES));
	return 0;
}

STEP static int copy_and_wait(void)
{
	static char from[BYTES], to[BYTES];

	check("copy", hipMemcpy(to, from, BYTES, HIP_HOST_TO_DEVICE));
	check("nothing", hipMemcpy(to, from, 0, HIP_HOST_TO_DEVICE));
	return 1;
}

static int copies(void)
{
	for (int n = 0; n < ROUNDS; n++)
		copy_and_wait();
	say("copies", ROUNDS, SIM_AMD_COPY_NS(BYTES));
	return 0;
}

static int failed(void)
{
	int count = 0;

	for (int n = 0; n < ROUNDS; n++) {
		launch_large(NULL);
		count += hipModuleLaunchKernel(large, 0, 1, 1, 64, 1, 1, 0, NULL, NULL, NULL) ==
			 HIP_INVALID_CONFIGURATION;
	}
	check("wait", hipDeviceSynchronize());
	printf("%d\n", count);
	return 0;
}

STEP static int launch_short(void *stream)
{
	return launch(node, GRAPH_GROUPS, stream) + 3;
}

STEP static int launch_long(void *stream)
{
	return launch(node, GRAPH_GROUPS + LARGE, stream) + 4;
}

static int sites(void)
{
	void *stream = make_stream();

	for (int n = 0; n < ROUNDS; n++) {
		launch_short(stream);
		launch_long(stream);
	}
	wait_for_stream(stream);
	printf("%d %d\n", (int)(ROUNDS * (SIM_AMD_KERNEL_NS(GRAPH_GROUPS) / 500)),
		(int)(ROUNDS * (SIM_AMD_KERNEL_NS(GRAPH_GROUPS + LARGE) / 500)));
	return 0;
}

static int many(int count)
{
	void *stream = make_stream();

	for (int n = 0; n < count; n++) {
		launch_large(stream);
		if (n % 64 == 63)
			wait_for_stream(stream);
	}
	wait_for_stream(stream);
	return 0;
}

static int fork_with_work(void)
{
	void *stream = make_stream();
	int status = 0;
	pid_t child;

	launch_large(stream);
	wait_for_stream(stream);
	child = fork();
	for (int n = 0; n < ROUNDS; n++) {
		launch_large(stream);
		wait_for_stream(stream);
	}
	if (!child)
		return 0;
	waitpid(child, &status, 0);
	printf("%d\n", ROUNDS + 1);
	return status;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	begin();
	if (!strcmp(what, "truth"))
		return truth();
	if (!strcmp(what, "copies"))
		return copies();
	if (!strcmp(what, "failed"))
		return failed();
	if (!strcmp(what, "sites"))
		return sites();
	if (!strcmp(what, "many") && argc > 2)
		return many(atoi(argv[2]));
	if (!strcmp(what, "fork"))
		return fork_with_work();
	fprintf(stderr, "usage: amd truth|copies|failed|sites|many COUNT|fork\n");
	return 2;
}
