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
 *	code FILE	launches the kernel "_Z6reducePfPKfi" of a code object, which is read into memory
 *	code_file FILE	so too, but the runtime opens the file
 *	graphs		launches graphs of all sorts, so that it can be seen which node work is of
 *	fork		launches, forks a child that launches, too, and launches again
 *	queues COUNT	makes so many streams, and launches in each
 *	kernels COUNT	loads so many kernels, and launches each
 *	callbacks	launches in functions that the runtime calls
 *	forks		forks again and again, with work under way; children launch, run another program, or just end
 *	dies		launches, and then a kernel that goes wrong
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

STEP static int launch_reduce(void *kernel, void *stream)
{
	return launch(kernel, LARGE, stream) + 5;
}

static int code(void *module)
{
	void *stream = make_stream(), *kernel;

	check("function", hipModuleGetFunction(&kernel, module, "_Z6reducePfPKfi"));
	for (int n = 0; n < ROUNDS; n++)
		launch_reduce(kernel, stream);
	wait_for_stream(stream);
	return 0;
}

static void *load(const char *path, int in_memory)
{
	static char image[1 << 20];
	FILE *file = fopen(path, "rb");
	void *module;

	if (!file || !fread(image, 1, sizeof(image), file))
		exit(2);
	fclose(file);
	check("module",
		in_memory ? hipModuleLoadData(&module, image) : hipModuleLoad(&module, path));
	return module;
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

/* --- graphs, of which one has two nodes of one kernel that were made in different places */

STEP static int first_part(void *stream)
{
	return launch(node, GRAPH_GROUPS, stream) + 6;
}

STEP static int second_part(void *stream)
{
	return launch(node, GRAPH_GROUPS, stream) + launch_small(stream) + 7;
}

STEP static int fill_part(void *stream)
{
	static char memory[BYTES];

	check("fill", hipMemsetAsync(memory, 0, BYTES, stream));
	return 8;
}

STEP static int copy_part(void *stream)
{
	static char from[BYTES], to[BYTES];

	check("copy", hipMemcpyAsync(to, from, BYTES, HIP_HOST_TO_DEVICE, stream));
	return 9;
}

static void *end_capture(void *stream)
{
	void *graph, *made;

	check("capture", hipStreamEndCapture(stream, &graph));
	check("graph", hipGraphInstantiate(&made, graph, NULL, NULL, 0));
	check("graph", hipGraphDestroy(graph));
	return made;
}

/* In one stream: a chain. */
STEP static void *make_chain(void *stream)
{
	check("capture", hipStreamBeginCapture(stream, 0));
	first_part(stream);
	fill_part(stream);
	second_part(stream);
	copy_part(stream);
	return end_capture(stream);
}

STEP static int branch_small(void *stream)
{
	return launch_small(stream) + 10;
}

/* In two: who comes first is for the runtime to say. */
STEP static void *make_branches(void *stream, void *other)
{
	void *event;

	check("event", hipEventCreate(&event));
	check("capture", hipStreamBeginCapture(stream, 0));
	first_part(stream);
	check("record", hipEventRecord(event, stream));
	check("wait", hipStreamWaitEvent(other, event, 0));
	branch_small(other);
	launch(node, GRAPH_GROUPS, stream);
	check("record", hipEventRecord(event, other));
	check("wait", hipStreamWaitEvent(stream, event, 0));
	return end_capture(stream);
}

STEP static void *add_by_hand(void *graph, void **before)
{
	const struct hip_kernel_node small_node = {
		.block = {32, 1, 1}, .function = &small, .grid = {1, 1, 1}};
	void *made;

	check("node", hipGraphAddKernelNode(&made, graph, before, *before ? 1 : 0, &small_node));
	return made;
}

STEP static void *make_by_hand(void)
{
	void *graph, *made, *before = NULL;

	check("graph", hipGraphCreate(&graph, 0));
	before = add_by_hand(graph, &before);
	add_by_hand(graph, &before);
	check("graph", hipGraphInstantiate(&made, graph, NULL, NULL, 0));
	return made;
}

STEP static int launch_chain(void *graph, void *stream)
{
	check("graph", hipGraphLaunch(graph, stream));
	return 11;
}

STEP static int launch_branches(void *graph, void *stream)
{
	check("graph", hipGraphLaunch(graph, stream));
	return 12;
}

STEP static int launch_by_hand(void *graph, void *stream)
{
	check("graph", hipGraphLaunch(graph, stream));
	return 13;
}

STEP static int launch_changed(void *graph, void *stream)
{
	check("graph", hipGraphLaunch(graph, stream));
	return 14;
}

static int all_graphs(void)
{
	void *stream = make_stream(), *other = make_stream();
	void *chain = make_chain(stream), *branches = make_branches(stream, other);
	void *by_hand = make_by_hand(), *changed = make_chain(stream);

	check("node", hipGraphNodeSetEnabled(changed, NULL, 0));
	for (int n = 0; n < ROUNDS; n++) {
		launch_chain(chain, stream);
		launch_branches(branches, stream);
		launch_by_hand(by_hand, stream);
		launch_changed(changed, stream);
		/* graphs that come and go, whose handles are used again */
		check("graph", hipGraphExecDestroy(make_chain(stream)));
	}
	wait_for_stream(stream);
	return 0;
}

/* --- programs that ask for much, or end badly */

static int queues(int count)
{
	void *stream = NULL;

	for (int n = 0; n < count; n++) {
		stream = make_stream();
		launch_large(stream);
		if (n % 64 == 63)
			wait_for_stream(stream);
	}
	wait_for_stream(stream);
	return 0;
}

static int kernels(int count)
{
	void *stream = make_stream(), *module, *kernel;
	char name[32];

	for (int n = 0; n < count; n++) {
		snprintf(name, sizeof(name), "kernel_%d", n);
		check("module", hipModuleLoadData(&module, name));
		check("function", hipModuleGetFunction(&kernel, module, name));
		launch(kernel, 1, stream);
		if (n % 64 == 63)
			wait_for_stream(stream);
	}
	wait_for_stream(stream);
	return 0;
}

static int called_back;

STEP static void on_stream(void *stream, int status, void *data)
{
	launch_small(stream);
	launch_large(stream);
	__atomic_add_fetch(&called_back, 1, __ATOMIC_SEQ_CST);
}

static int callbacks(void)
{
	void *stream = make_stream();

	for (int n = 0; n < ROUNDS; n++) {
		launch_large(stream);
		check("callback", hipStreamAddCallback(stream, on_stream, NULL, 0));
	}
	while (__atomic_load_n(&called_back, __ATOMIC_SEQ_CST) < ROUNDS)
		usleep(1000);
	wait_for_stream(stream);
	return 0;
}

static int fork_often(void)
{
	void *stream = make_stream();
	int status = 0, bad = 0;

	for (int n = 0; n < ROUNDS; n++) {
		pid_t child;

		launch_large(stream);
		child = fork();
		if (!child && n % 3 == 0)
			execl("/bin/true", "true", NULL);
		if (!child && n % 3 == 1)
			launch_large(stream);
		if (!child)
			_exit(0);
		launch_small(stream);
		waitpid(child, &status, 0);
		bad += status != 0;
	}
	wait_for_stream(stream);
	printf("%d\n", bad);
	return 0;
}

static int dies(void)
{
	void *stream = make_stream(), *module, *kernel;

	check("module", hipModuleLoadData(&module, SIM_AMD_FAULT));
	check("function", hipModuleGetFunction(&kernel, module, SIM_AMD_FAULT));
	for (int n = 0; n < ROUNDS; n++)
		launch_large(stream);
	wait_for_stream(stream);
	usleep(500000);
	launch(kernel, 1, stream);
	while (launch_small(stream))
		;
	return 0;
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
	if (!strcmp(what, "graphs"))
		return all_graphs();
	if (!strcmp(what, "many") && argc > 2)
		return many(atoi(argv[2]));
	if (!strcmp(what, "queues") && argc > 2)
		return queues(atoi(argv[2]));
	if (!strcmp(what, "kernels") && argc > 2)
		return kernels(atoi(argv[2]));
	if (!strcmp(what, "callbacks"))
		return callbacks();
	if (!strcmp(what, "forks"))
		return fork_often();
	if (!strcmp(what, "dies"))
		return dies();
	if (!strcmp(what, "code") && argc > 2)
		return code(load(argv[2], 1));
	if (!strcmp(what, "code_file") && argc > 2)
		return code(load(argv[2], 0));
	if (!strcmp(what, "fork"))
		return fork_with_work();
	fprintf(stderr, "usage: amd WHAT [ARGUMENT], see tests/targets/amd.c\n");
	return 2;
}
