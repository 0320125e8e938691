// SPDX-License-Identifier: MIT
/*
 * A program whose launches are known: how many of which kernel by which function, over threads,
 * streams and graphs. It prints what it did (expect.h).
 *
 *	launches [--repeat N]	everything, N times
 *	launches --sequence	one of each from one thread, for comparing drivers
 *				(tests/gpu/cupti_sequence.c)
 */
#include "gpu.h"
#include "expect.h"

#include <getopt.h>
#include <pthread.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { BYTES = 1 << 16, SIDE = 256, REPLAYS = 7, THREADS = 3, COROUTINE_STACK = 1 << 18 };

static const char a_name[] = "count_a_us5", b_name[] = "count_b_us3", c_name[] = "count_c_us8";
static const char cooperative_name[] = "count_cooperative_us4";

static struct {
	gpu_kernel a, b, c, cooperative;
	gpu_stream blocking, free_running;
	char *pinned, *pageable;
	void *one, *other; /* on the device, BYTES each */
} t;

static void launched(const char *function, const char *kernel, unsigned long count)
{
	expect((struct expected){"kernel", function, kernel, NULL, count, count, 0});
}

static void copied(const char *function, const char *kind, unsigned long bytes)
{
	expect((struct expected){"copy", function, kind, NULL, 1, bytes != 0, bytes});
}

static void set(const char *function, unsigned long bytes)
{
	expect((struct expected){"set", function, "", NULL, 1, 1, bytes});
}

STAGE void launch_default_stream(int count)
{
	for (int i = 0; i < count; i++)
		gpu_launch(t.a, NULL);
	launched(__func__, a_name, (unsigned long)count);
}

STAGE void launch_two_streams(int count)
{
	for (int i = 0; i < count; i++) {
		gpu_launch(t.b, t.blocking);
		gpu_launch(t.b, t.free_running);
	}
	launched(__func__, b_name, 2 * (unsigned long)count);
}

STAGE void launch_extended(int count)
{
	for (int i = 0; i < count; i++)
		gpu_launch_extended(t.c, t.blocking);
	launched(__func__, c_name, (unsigned long)count);
}

STAGE void launch_cooperative(int count)
{
	for (int i = 0; i < count; i++)
		gpu_launch_cooperative(t.cooperative, t.blocking);
	launched(__func__, cooperative_name, (unsigned long)count);
}

STAGE void launch_per_thread_stream(int count)
{
	for (int i = 0; i < count; i++)
		gpu_launch_ptsz(t.a);
	gpu_stream_wait_ptsz();
	launched(__func__, a_name, (unsigned long)count);
}

STAGE void launch_at_depth(int depth)
{
	if (depth) {
		launch_at_depth(depth - 1);
		__asm__ volatile(""); /* no tail call */
		return;
	}
	gpu_launch(t.c, t.free_running);
	launched(__func__, c_name, 1);
}

static ucontext_t coroutine, coroutine_caller;

STAGE void launch_in_coroutine(void)
{
	gpu_launch(t.b, t.blocking);
	launched(__func__, b_name, 1);
	gpu_launch(t.b, t.blocking);
	launched(__func__, b_name, 1);
}

/* On a stack of its own, which ends where its first frame begins, and behind it is nothing. */
STAGE void run_coroutine(void)
{
	char *stack = (char *)mmap(NULL, COROUTINE_STACK + 4096, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (stack == MAP_FAILED || mprotect(stack + COROUTINE_STACK, 4096, PROT_NONE) ||
		getcontext(&coroutine))
		exit(1);
	coroutine.uc_stack.ss_sp = stack;
	coroutine.uc_stack.ss_size = COROUTINE_STACK;
	coroutine.uc_link = &coroutine_caller;
	makecontext(&coroutine, launch_in_coroutine, 0);
	if (swapcontext(&coroutine_caller, &coroutine))
		exit(1);
	munmap(stack, COROUTINE_STACK + 4096);
}

/* Blocks of 2048 threads do not exist: CUDA refuses each. */
STAGE void launch_refused(int count)
{
	for (int i = 0; i < count; i++) {
		if (gpu_try_launch(t.a, 2048, t.blocking)) {
			fprintf(stderr, "launches: CUDA took a launch of 2048 threads a block\n");
			exit(1);
		}
	}
	expect((struct expected){"failed", __func__, a_name, NULL, (unsigned long)count, 0, 0});
}

STAGE void copy_synchronous(void)
{
	gpu_copy(t.one, t.pageable, BYTES, GPU_HTOD);
	copied(__func__, "HtoD", BYTES);
	gpu_copy(t.other, t.one, BYTES, GPU_DTOD);
	copied(__func__, "DtoD", BYTES);
	gpu_copy(t.pageable, t.other, BYTES, GPU_DTOH);
	copied(__func__, "DtoH", BYTES);
	gpu_copy(t.one, t.pinned, BYTES, GPU_UNIFIED);
	copied(__func__, "HtoD", BYTES);
}

STAGE void copy_asynchronous(void)
{
	gpu_copy_async(t.one, t.pinned, BYTES, GPU_HTOD, t.blocking);
	copied(__func__, "HtoD", BYTES);
	gpu_copy_async(t.other, t.one, BYTES, GPU_DTOD, t.blocking);
	copied(__func__, "DtoD", BYTES);
	gpu_copy_async(t.pinned, t.other, BYTES, GPU_DTOH, t.blocking);
	copied(__func__, "DtoH", BYTES);
	gpu_copy_async(t.one, t.pinned, BYTES, GPU_UNIFIED, t.blocking);
	copied(__func__, "HtoD", BYTES);
	gpu_stream_wait(t.blocking);
}

STAGE void copy_rows(void)
{
	gpu_copy_rows(t.one, t.pinned, SIDE);
	copied(__func__, "HtoD", SIDE * SIDE / 2);
}

STAGE void copy_nothing(void)
{
	gpu_copy_async(t.one, t.pinned, 0, GPU_HTOD, t.blocking);
	copied(__func__, "HtoD", 0);
}

STAGE void set_memory(void)
{
	gpu_set(t.one, 1, BYTES);
	set(__func__, BYTES);
	gpu_set_async(t.other, 2, BYTES, t.blocking);
	set(__func__, BYTES);
	gpu_set_rows(t.one, 3, SIDE);
	set(__func__, SIDE * SIDE / 2);
}

static void node(const char *replayer, const char *maker, const char *what, unsigned long works)
{
	expect((struct expected){"node", replayer, what, maker, 0, works, 0});
}

static void replayed(const char *function, unsigned long launches, unsigned long nodes)
{
	expect((struct expected){"graph", function, "", NULL, launches, launches * nodes, 0});
}

static void captured(const char *function, unsigned long count)
{
	expect((struct expected){"captured", function, "", NULL, count, 0, 0});
}

STAGE void capture_kernels(gpu_stream s)
{
	gpu_launch(t.a, s);
	gpu_launch(t.b, s);
	gpu_launch(t.a, s);
	captured(__func__, 3);
}

/* Beside the kernels, on a stream that joins the capture by an event and leads back by another. */
STAGE void capture_branch(gpu_stream s, gpu_stream side)
{
	gpu_event fork = gpu_event_new(), join = gpu_event_new();

	gpu_event_record(fork, s);
	gpu_stream_wait_event(side, fork);
	gpu_launch(t.c, side);
	gpu_event_record(join, side);
	gpu_stream_wait_event(s, join);
	gpu_event_free(join);
	gpu_event_free(fork);
	captured(__func__, 1);
}

STAGE void capture_memory(gpu_stream s)
{
	gpu_set_async(t.one, 4, BYTES, s);
	gpu_copy_async(t.one, t.pinned, BYTES, GPU_HTOD, s);
	captured(__func__, 2);
}

STAGE gpu_graph capture_graph(void)
{
	gpu_capture_begin(t.free_running);
	capture_kernels(t.free_running);
	capture_branch(t.free_running, t.blocking);
	capture_memory(t.free_running);
	return gpu_capture_end(t.free_running);
}

STAGE void replay_captured(gpu_exec exec, int count)
{
	for (int i = 0; i < count; i++)
		gpu_exec_launch(exec, t.free_running);
	gpu_stream_wait(t.free_running);
	replayed(__func__, (unsigned long)count, 6);
	node(__func__, "capture_kernels", a_name, 2 * (unsigned long)count);
	node(__func__, "capture_kernels", b_name, (unsigned long)count);
	node(__func__, "capture_branch", c_name, (unsigned long)count);
	node(__func__, "capture_memory", "set", (unsigned long)count);
	node(__func__, "capture_memory", "HtoD", (unsigned long)count);
}

/* Captured once more and put into the executable graph that is there. */
STAGE void update_captured(gpu_exec exec)
{
	gpu_graph again = capture_graph();

	gpu_exec_update(exec, again);
	gpu_graph_free(again);
}

STAGE void run_captured_graph(int replays)
{
	gpu_graph graph = capture_graph();
	gpu_exec exec = gpu_graph_instantiate(graph);

	replay_captured(exec, replays);
	update_captured(exec);
	replay_captured(exec, replays);
	gpu_exec_free(exec);
	gpu_graph_free(graph);
}

STAGE gpu_graph build_graph(void)
{
	gpu_graph graph = gpu_graph_new();
	gpu_node last = NULL;

	last = gpu_graph_add_set(graph, last, t.other, 5, BYTES);
	last = gpu_graph_add_copy(graph, last, t.other, t.pinned, BYTES);
	for (int i = 0; i < 3; i++)
		last = gpu_graph_add_kernel(graph, last, t.c);
	gpu_graph_add_kernel(graph, last, t.b);
	return graph;
}

STAGE void replay_built(gpu_exec exec, int count)
{
	for (int i = 0; i < count; i++)
		gpu_exec_launch(exec, t.blocking);
	gpu_stream_wait(t.blocking);
	replayed(__func__, (unsigned long)count, 6);
	node(__func__, "build_graph", c_name, 3 * (unsigned long)count);
	node(__func__, "build_graph", b_name, (unsigned long)count);
	node(__func__, "build_graph", "set", (unsigned long)count);
	node(__func__, "build_graph", "HtoD", (unsigned long)count);
}

/* The graph and its clone, each instantiated; the first one twice. */
STAGE void run_built_graph(int replays)
{
	gpu_graph graph = build_graph();
	gpu_graph clone = gpu_graph_clone(graph);
	gpu_exec first = gpu_graph_instantiate(graph);
	gpu_exec second = gpu_graph_instantiate(graph);
	gpu_exec third = gpu_graph_instantiate(clone);

	gpu_graph_free(graph);
	replay_built(first, replays);
	replay_built(second, replays);
	replay_built(third, replays);
	gpu_exec_free(third);
	gpu_exec_free(second);
	gpu_exec_free(first);
	gpu_graph_free(clone);
}

STAGE gpu_graph build_kernels(void)
{
	gpu_graph graph = gpu_graph_new();

	gpu_graph_add_kernel(graph, gpu_graph_add_kernel(graph, NULL, t.a), t.b);
	return graph;
}

STAGE void replay_kernels(gpu_exec exec, int count)
{
	for (int i = 0; i < count; i++)
		gpu_exec_launch(exec, t.blocking);
	gpu_stream_wait(t.blocking);
	replayed(__func__, (unsigned long)count, 2);
	node(__func__, "build_kernels", a_name, (unsigned long)count);
	node(__func__, "build_kernels", b_name, (unsigned long)count);
}

STAGE void replay_nothing(gpu_exec exec, int count)
{
	for (int i = 0; i < count; i++)
		gpu_exec_launch(exec, t.blocking);
	gpu_stream_wait(t.blocking);
	replayed(__func__, (unsigned long)count, 0);
}

/* A graph of nothing but kernels, and one of nothing at all. */
STAGE void run_plain_graphs(int replays)
{
	gpu_graph kernels = build_kernels(), nothing = gpu_graph_new();
	gpu_exec first = gpu_graph_instantiate(kernels), second = gpu_graph_instantiate(nothing);

	replay_kernels(first, replays);
	replay_nothing(second, replays);
	gpu_exec_free(second);
	gpu_exec_free(first);
	gpu_graph_free(nothing);
	gpu_graph_free(kernels);
}

STAGE void worker_launches(gpu_stream s)
{
	for (int i = 0; i < 30; i++)
		gpu_launch(t.b, s);
	gpu_stream_wait(s);
	launched(__func__, b_name, 30);
}

static void *worker(void *unused)
{
	gpu_stream s;

	gpu_enter_thread();
	s = gpu_stream_new(false);
	worker_launches(s);
	launch_per_thread_stream(25);
	gpu_stream_free(s);
	return NULL;
}

STAGE void run_threads(void)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, worker, NULL))
			exit(1);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

static void run_all(void)
{
	launch_default_stream(50);
	launch_two_streams(40);
	launch_extended(10);
	launch_cooperative(5);
	launch_per_thread_stream(20);
	launch_at_depth(5);
	run_coroutine();
	launch_refused(5);
	copy_synchronous();
	copy_asynchronous();
	copy_rows();
	copy_nothing();
	set_memory();
	run_captured_graph(REPLAYS);
	run_built_graph(REPLAYS);
	run_plain_graphs(REPLAYS);
	run_threads();
	gpu_wait();
}

static void run_sequence(void)
{
	launch_default_stream(2);
	launch_two_streams(1);
	launch_extended(1);
	launch_cooperative(1);
	launch_per_thread_stream(1);
	launch_refused(1);
	gpu_wait();
	copy_synchronous();
	copy_asynchronous();
	copy_rows();
	copy_nothing();
	set_memory();
	gpu_wait();
	run_captured_graph(2);
	run_built_graph(1);
	gpu_wait();
}

static void prepare(void)
{
	t.a = gpu_get_kernel(a_name);
	t.b = gpu_get_kernel(b_name);
	t.c = gpu_get_kernel(c_name);
	t.cooperative = gpu_get_kernel(cooperative_name);
	t.blocking = gpu_stream_new(true);
	t.free_running = gpu_stream_new(false);
	t.pinned = (char *)gpu_alloc_pinned(BYTES);
	t.pageable = (char *)calloc(1, BYTES);
	t.one = gpu_alloc(BYTES);
	t.other = gpu_alloc(BYTES);
}

static void clean_up(void)
{
	gpu_free(t.other);
	gpu_free(t.one);
	free(t.pageable);
	gpu_free_pinned(t.pinned);
	gpu_stream_free(t.free_running);
	gpu_stream_free(t.blocking);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {{"repeat", required_argument, NULL, 'r'},
		{"sequence", no_argument, NULL, 's'}, {0}};
	bool sequence = false;
	int option, repeat = 1;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'r')
			repeat = atoi(optarg);
		else if (option == 's')
			sequence = true;
		else
			return 2;
	}
	if (!gpu_open("launches"))
		return 1;
	prepare();
	if (sequence)
		run_sequence();
	for (int i = 0; i < repeat && !sequence; i++)
		run_all();
	clean_up();
	printf("{\"type\": \"program\", \"form\": \"%s\", \"device\": \"%s\"}\n", gpu_form,
		gpu.name);
	expect_print();
	return 0;
}
