// SPDX-License-Identifier: MIT
/*
 * Tiny launches back to back, as fast as they go: what a launch costs the program.
 *
 *	launch_rate [--launches N] [--threads T]
 *
 * Each thread makes N launches on a stream of its own.
 */
#include "gpu.h"

#include <getopt.h>
#include <pthread.h>
#include <time.h>

enum { MAX_THREADS = 64 };

static struct {
	gpu_kernel kernel;
	unsigned long launches;
} rate;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

STAGE void launch_back_to_back(gpu_stream s)
{
	for (unsigned long i = 0; i < rate.launches; i++)
		gpu_launch(rate.kernel, s);
}

static void *run(void *unused)
{
	gpu_stream s;

	gpu_enter_thread();
	s = gpu_stream_new(false);
	launch_back_to_back(s);
	gpu_stream_wait(s);
	gpu_stream_free(s);
	return NULL;
}

int main(int argc, char **argv)
{
	static const struct option options[] = { { "launches", required_argument, NULL, 'n' },
		{ "threads", required_argument, NULL, 't' }, { 0 } };
	pthread_t threads[MAX_THREADS];
	int option, count = 1;
	double start, each;

	rate.launches = 100000;
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'n')
			rate.launches = strtoul(optarg, NULL, 10);
		else if (option == 't')
			count = atoi(optarg);
		else
			return 2;
	}
	if (count < 1 || count > MAX_THREADS || !gpu_open("launch_rate"))
		return 1;
	rate.kernel = gpu_get_kernel("count_tiny_ns100");
	start = now();
	for (int i = 0; i < count; i++)
		if (pthread_create(&threads[i], NULL, run, NULL))
			return 1;
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	each = (now() - start) / (double)rate.launches;
	printf("{\"launches\": %lu, \"threads\": %d, \"ns_per_launch\": %.1f, \"device\": "
	       "\"%s\"}\n",
		rate.launches * (unsigned long)count, count, each, gpu.name);
	return 0;
}
