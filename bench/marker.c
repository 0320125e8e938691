// SPDX-License-Identifier: MIT
/*
 * What the launch marker costs the program that calls it, when the stack is taken by BPF: by the
 * depth of the stack, for stacks that nobody has seen before, and for stacks of Python; and what
 * the recorder spends on each launch. Needs the rights for BPF.
 *
 * This file is built without frame pointers (rules.mk).
 *
 *	marker LIBRARY PYTHON-SCRIPT
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "capture/capture.h"

#define ROUNDS 41
#define HITS   500 /* in a round: less than a turn of the scheduler */

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

/* ------------------------------------------------------------------ stacks that are new */

/* Functions enough that each is on one stack only. They call each other through a table. */
#define FUNCTIONS  3000
#define NEW_FRAMES 26 /* with those of main and below about 30 */
#define TEN(m, a)  m(a##0) m(a##1) m(a##2) m(a##3) m(a##4) m(a##5) m(a##6) m(a##7) m(a##8) m(a##9)
#define HUNDRED(m, a)                                                                              \
	TEN(m, a##0)                                                                               \
	TEN(m, a##1)                                                                               \
	TEN(m, a##2)                                                                               \
	TEN(m, a##3)                                                                               \
	TEN(m, a##4)                                                                               \
	TEN(m, a##5)                                                                               \
	TEN(m, a##6)                                                                               \
	TEN(m, a##7)                                                                               \
	TEN(m, a##8)                                                                               \
	TEN(m, a##9)
#define THOUSAND(m, a)                                                                             \
	HUNDRED(m, a##0)                                                                           \
	HUNDRED(m, a##1)                                                                           \
	HUNDRED(m, a##2)                                                                           \
	HUNDRED(m, a##3)                                                                           \
	HUNDRED(m, a##4)                                                                           \
	HUNDRED(m, a##5)                                                                           \
	HUNDRED(m, a##6)                                                                           \
	HUNDRED(m, a##7)                                                                           \
	HUNDRED(m, a##8)                                                                           \
	HUNDRED(m, a##9)
#define ALL(m)	   THOUSAND(m, 1) THOUSAND(m, 2) THOUSAND(m, 3)
#define DECLARE(n) static uint64_t frame##n(marker_function marker, int depth, const int *path);
#define ADDRESS(n) frame##n,
#define DEFINE(n)                                                                                  \
	__attribute__((noinline)) static uint64_t frame##n(                                        \
		marker_function marker, int depth, const int *path)                                \
	{                                                                                          \
		volatile char room[56 + (n * 7) % 90];                                             \
		uint64_t took_ns;                                                                  \
                                                                                                   \
		room[3] = (char)depth;                                                             \
		took_ns = depth ? frames[path[depth]](marker, depth - 1, path) : time_one(marker); \
		room[4] = room[3];                                                                 \
		return took_ns;                                                                    \
	}

ALL(DECLARE)

static uint64_t (*const frames[])(marker_function, int, const int *) = {ALL(ADDRESS)};

__attribute__((noinline)) static uint64_t time_one(marker_function marker)
{
	uint64_t start_ns = clock_now_ns();

	marker(1, 1, CALL_LAUNCH);
	return clock_now_ns() - start_ns;
}

ALL(DEFINE)

static void print_new(const char *what, const char *which, uint64_t *took_ns, size_t count)
{
	qsort(took_ns, count, sizeof(*took_ns), compare);
	printf("%-8s  30 frames, %-7s  %5lu ns (median of %zu; 5th to 95th percentile %lu to "
	       "%lu)\n",
		what, which, took_ns[count / 2], count, took_ns[count / 20],
		took_ns[count * 19 / 20]);
}

/* Each stack once, and once more. */
static void measure_new(marker_function marker, const char *what)
{
	enum { STACKS = FUNCTIONS / NEW_FRAMES };
	uint64_t took_ns[2][STACKS];

	for (int i = 0; i < HITS; i++)
		time_one(marker);
	for (int stack = 0; stack < STACKS; stack++) {
		int path[NEW_FRAMES];

		for (int i = 0; i < NEW_FRAMES; i++)
			path[i] = stack * NEW_FRAMES + i;
		for (int again = 0; again < 2; again++)
			took_ns[again][stack] = frames[path[0]](marker, NEW_FRAMES - 1, path);
	}
	print_new(what, "first", took_ns[0], STACKS);
	print_new(what, "again", took_ns[1], STACKS);
	fflush(stdout);
}

/* ------------------------------------------------------------------ the recorder */

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

/* Never in this process: children of one that has hit a probe must not (wire/marker.h). */
static pid_t measure_in_child(marker_function marker, const char *what)
{
	pid_t child = fork();

	if (!child) {
		measure(marker, what);
		measure_new(marker, what);
		_exit(0);
	}
	return child;
}

/* The script calls the marker under 40 frames, half of them Python's. */
static pid_t measure_python(
	const char *script, const char *library, const char *name, const char *what)
{
	pid_t child = fork();

	if (!child) {
		execlp("python3", "python3", script, library, name, what, NULL);
		printf("%-8s  no python3 here\n", what);
		fflush(stdout);
		_exit(0);
	}
	return child;
}

/* Until the tables of this process, whose children inherit them, are made. */
static void drain_for(struct capture *c, int ms)
{
	struct timespec pause = {.tv_nsec = 10000000};
	bool busy;

	for (int i = 0; i < ms / 10 && !capture_drain(c, &busy); i++)
		nanosleep(&pause, NULL);
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
	const char *script = argc > 2 ? argv[2] : "", *name;
	double before;
	pid_t child;

	if (profile_writer_open(&w, "/dev/null") || tasks_new(&tasks, w) ||
		capture_open(&c, &options, w, tasks,
			(struct gpu_events){.context = &launches, .launch = ignore_launch},
			(struct walker_news){0}))
		return fail();
	marker = find_marker(options.library, capture_marker(c));
	if (!marker || capture_track(c, getpid()))
		return fail();
	name = marker_names[capture_marker(c)];
	printf("%s\n", name);
	fflush(stdout);
	waitpid(measure_in_child(marker, "alone"), NULL, 0);
	waitpid(measure_python(script, options.library, name, "alone"), NULL, 0);
	if (capture_start(c))
		return fail();
	drain_for(c, 1000);
	child = measure_in_child(marker, "recorded");
	before = cpu_seconds();
	drain_until_end(c, child);
	drain_until_end(c, measure_python(script, options.library, name, "recorded"));
	before = cpu_seconds() - before;
	profile_writer_totals(w, &totals);
	printf("recorder  %llu launches, %.0f ns of CPU each; %llu lost\n",
		(unsigned long long)launches, before * 1e9 / (double)(launches ? launches : 1),
		(unsigned long long)totals.losses[LOSS_STACKS_RING_FULL]);
	capture_close(c);
	return 0;
}
