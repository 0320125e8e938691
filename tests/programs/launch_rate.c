// SPDX-License-Identifier: MIT
/*
 * Tiny launches back to back, as fast as they go: what a launch costs the program.
 *
 *	launch_rate [--launches N] [--threads T] [--rate R [--spin]]
 *
 * Each thread makes N launches on a stream of its own. With a rate it makes so many a second at
 * most, in groups of a millisecond, and sleeps in between; or spins, as programs do that have work.
 */
#include "gpu.h"

#include <getopt.h>
#include <pthread.h>
#include <time.h>

enum { MAX_THREADS = 64 };

static struct {
	gpu_kernel kernel;
	unsigned long launches;
	unsigned long per_second; /* 0: as fast as they go */
	bool spin;
} rate;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

STAGE void launch_back_to_back(gpu_stream s, unsigned long launches)
{
	for (unsigned long i = 0; i < launches; i++)
		gpu_launch(rate.kernel, s);
}

static void wait_until(double when)
{
	struct timespec t = {.tv_sec = (time_t)(when / 1e9)};

	t.tv_nsec = (long)(when - (double)t.tv_sec * 1e9);
	if (!rate.spin)
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
	while (now() < when)
		;
}

/* Whoever comes late makes up for it: the rate holds over the whole run. */
static void launch_in_groups(gpu_stream s)
{
	double start = now();

	for (unsigned long done = 0; done < rate.launches;) {
		unsigned long due =
			(unsigned long)((now() - start + 1e6) / 1e9 * (double)rate.per_second);

		if (due > rate.launches)
			due = rate.launches;
		if (due > done)
			launch_back_to_back(s, due - done);
		done = due > done ? due : done;
		wait_until(start + (double)done / (double)rate.per_second * 1e9);
	}
}

static void *run(void *unused)
{
	gpu_stream s;

	gpu_enter_thread();
	s = gpu_stream_new(false);
	if (rate.per_second)
		launch_in_groups(s);
	else
		launch_back_to_back(s, rate.launches);
	gpu_stream_wait(s);
	gpu_stream_free(s);
	return NULL;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {{"launches", required_argument, NULL, 'n'},
		{"threads", required_argument, NULL, 't'}, {"rate", required_argument, NULL, 'r'},
		{"spin", no_argument, NULL, 's'}, {0}};
	pthread_t threads[MAX_THREADS];
	int option, count = 1;
	double start, each;

	rate.launches = 100000;
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'n')
			rate.launches = strtoul(optarg, NULL, 10);
		else if (option == 't')
			count = atoi(optarg);
		else if (option == 'r')
			rate.per_second = strtoul(optarg, NULL, 10);
		else if (option == 's')
			rate.spin = true;
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
