// SPDX-License-Identifier: MIT
/*
 * What the launch marker costs the program that calls it, by the depth of its stack, and what the
 * recorder spends on each launch. Needs the rights for BPF.
 *
 *	marker LIBRARY
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "capture/capture.h"

#define ROUNDS 41
#define HITS   2000 /* in a round */

typedef void (*marker_function)(uint64_t instance, uint64_t correlation, uint64_t kind);

static const int depths[] = {1, 17, 40, 100};

static const char *const marker_names[LAUNCH_MARKER_KINDS] = {
	[LAUNCH_MARKER_NOP1] = "xpuprof_launch_marker_nop1",
	[LAUNCH_MARKER_NOP5] = "xpuprof_launch_marker_nop5",
	[LAUNCH_MARKER_NOP10] = "xpuprof_launch_marker_nop10",
};

__attribute__((noinline)) static uint64_t time_hits(marker_function marker)
{
	uint64_t start_ns = clock_now_ns();

	for (uint64_t i = 0; i < HITS; i++)
		marker(1, i, CALL_LAUNCH);
	return clock_now_ns() - start_ns;
}

/* Each frame holds 100 bytes, more or less what C++ has. */
__attribute__((noinline)) static uint64_t time_at_depth(marker_function marker, int depth)
{
	volatile char frame[100];
	uint64_t took_ns;

	frame[0] = (char)depth;
	took_ns = depth > 1 ? time_at_depth(marker, depth - 1) : time_hits(marker);
	frame[1] = frame[0];
	return took_ns;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Rounds with pauses, as many launches as the recorder has time to take. */
static void measure(marker_function marker, const char *what)
{
	struct timespec pause = {.tv_nsec = 10000000};
	uint64_t took_ns[ROUNDS];

	for (size_t d = 0; d < sizeof(depths) / sizeof(depths[0]); d++) {
		for (int round = 0; round < ROUNDS; round++) {
			took_ns[round] = time_at_depth(marker, depths[d]);
			nanosleep(&pause, NULL);
		}
		qsort(took_ns, ROUNDS, sizeof(*took_ns), compare);
		printf("%-8s  depth %3d  %5.0f ns a hit (median of %d; 5th to 95th percentile %.0f "
		       "to "
		       "%.0f)\n",
			what, depths[d], (double)took_ns[ROUNDS / 2] / HITS, ROUNDS,
			(double)took_ns[ROUNDS / 20] / HITS,
			(double)took_ns[ROUNDS * 19 / 20] / HITS);
	}
	fflush(stdout);
}

static int ignore_launch(void *context, const struct gpu_launch *e)
{
	++*(uint64_t *)context;
	return 0;
}

static double cpu_seconds(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static void drain_until_end(struct capture *c, pid_t child)
{
	struct timespec pause = {.tv_nsec = 5000000};
	bool busy;

	while (!capture_drain(c, &busy) && waitpid(child, NULL, WNOHANG) == 0)
		nanosleep(&pause, NULL);
	(void)capture_drain(c, &busy);
}

static marker_function find_marker(const char *library, enum launch_marker kind)
{
	void *handle = dlopen(library, RTLD_NOW);

	return handle ? (marker_function)dlsym(handle, marker_names[kind]) : NULL;
}

/* Never in this process: children of one that has hit a probe must not (inject/marker.h). */
static pid_t measure_in_child(marker_function marker, const char *what)
{
	pid_t child = fork();

	if (!child) {
		measure(marker, what);
		_exit(0);
	}
	return child;
}

static int fail(void)
{
	fprintf(stderr, "marker: %s\n", error_text());
	return 1;
}

int main(int argc, char **argv)
{
	const struct capture_options options = {
		.launches = true, .library = argc > 1 ? argv[1] : ""};
	struct profile_totals totals;
	struct profile_writer *w;
	struct capture *c;
	struct tasks *tasks;
	marker_function marker;
	uint64_t launches = 0;
	double before;
	pid_t child;

	if (profile_writer_open(&w, "/dev/null") || tasks_new(&tasks, w) ||
		capture_open(&c, &options, w, tasks,
			(struct gpu_sink){.context = &launches, .launch = ignore_launch}))
		return fail();
	marker = find_marker(options.library, capture_marker(c));
	if (!marker || capture_track(c, getpid()))
		return fail();
	printf("%s\n", marker_names[capture_marker(c)]);
	fflush(stdout);
	waitpid(measure_in_child(marker, "alone"), NULL, 0);
	if (capture_start(c))
		return fail();
	child = measure_in_child(marker, "recorded");
	before = cpu_seconds();
	drain_until_end(c, child);
	before = cpu_seconds() - before;
	profile_writer_totals(w, &totals);
	printf("recorder  %llu launches, %.0f ns of CPU each; %llu lost\n",
		(unsigned long long)launches, before * 1e9 / (double)(launches ? launches : 1),
		(unsigned long long)totals.losses[LOSS_STACKS_RING_FULL]);
	capture_close(c);
	return 0;
}
