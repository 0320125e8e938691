// SPDX-License-Identifier: MIT
/*
 * Rounds of the same GPU work, until SIGTERM: for recordings that begin and end in the middle.
 *
 *	rounds [--threads T] [--pause MICROSECONDS] [--seconds S] [--no-graph]
 *
 * Says "ready", and at the end of each round the thread, and when the round began and ended, by
 * CLOCK_MONOTONIC in nanoseconds. In each a thread asks, on a stream of its own, for five kernels,
 * a copy, a set and, without --no-graph, a graph of three kernels, and waits for all
 * (tests/check_rounds.py).
 */
#include "gpu.h"

#include <getopt.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { MAX_THREADS = 16, KERNELS = 5, NODES = 3, BYTES = 4096 };

static volatile sig_atomic_t ended;

static struct {
	gpu_kernel direct, node;
	useconds_t pause_us;
	int no_graph;
	uint64_t end_ns; /* 0: only a signal ends it */
} rounds;

struct round_state {
	gpu_stream stream;
	gpu_exec graph;
	void *on_device, *pinned;
};

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

STAGE gpu_exec make_graph(void)
{
	gpu_graph g = gpu_graph_new();
	gpu_node last = NULL;

	for (int n = 0; n < NODES; n++)
		last = gpu_graph_add_kernel(g, last, rounds.node);
	return gpu_graph_instantiate(g);
}

STAGE void launch_direct(struct round_state *r)
{
	for (int n = 0; n < KERNELS; n++)
		gpu_launch(rounds.direct, r->stream);
}

STAGE void move_bytes(struct round_state *r)
{
	gpu_copy_async(r->on_device, r->pinned, BYTES, GPU_HTOD, r->stream);
	gpu_set_async(r->on_device, 0, BYTES, r->stream);
}

STAGE void replay_graph(struct round_state *r)
{
	gpu_exec_launch(r->graph, r->stream);
}

static void say(uint64_t start_ns)
{
	char line[96];
	int size = snprintf(line, sizeof(line), "%ld %llu %llu\n", (long)syscall(SYS_gettid),
		(unsigned long long)start_ns, (unsigned long long)now());

	if (write(STDOUT_FILENO, line, (size_t)size) != size)
		exit(1);
}

static bool is_over(void)
{
	return ended || (rounds.end_ns && now() > rounds.end_ns);
}

static void *run(void *unused)
{
	struct round_state r;

	gpu_enter_thread();
	r.stream = gpu_stream_new(false);
	if (!rounds.no_graph)
		r.graph = make_graph();
	r.on_device = gpu_alloc(BYTES);
	r.pinned = gpu_alloc_pinned(BYTES);
	while (!is_over()) {
		uint64_t start_ns = now();

		launch_direct(&r);
		move_bytes(&r);
		if (!rounds.no_graph)
			replay_graph(&r);
		gpu_stream_wait(r.stream);
		say(start_ns);
		if (rounds.pause_us)
			usleep(rounds.pause_us);
	}
	return NULL;
}

static void end(int number)
{
	ended = 1;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {{"threads", required_argument, NULL, 't'},
		{"pause", required_argument, NULL, 'p'}, {"seconds", required_argument, NULL, 's'},
		{"no-graph", no_argument, &rounds.no_graph, 1}, {0}};
	struct sigaction ends = {0};
	pthread_t threads[MAX_THREADS];
	int option, count = 1;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 't')
			count = atoi(optarg);
		else if (option == 'p')
			rounds.pause_us = (useconds_t)atoi(optarg);
		else if (option == 's')
			rounds.end_ns = now() + (uint64_t)(atof(optarg) * 1e9);
		else if (option)
			return 2;
	}
	ends.sa_handler = end;
	ends.sa_flags = SA_RESTART;
	sigaction(SIGTERM, &ends, NULL);
	if (count < 1 || count > MAX_THREADS || !gpu_open("rounds"))
		return 1;
	rounds.direct = gpu_get_kernel("count_a_us5");
	rounds.node = gpu_get_kernel("count_b_us3");
	puts("ready");
	fflush(stdout);
	for (int i = 0; i < count; i++)
		if (pthread_create(&threads[i], NULL, run, NULL))
			return 1;
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	puts("done");
	return 0;
}
