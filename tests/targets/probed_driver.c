// SPDX-License-Identifier: MIT
/*
 * A program over a driver that has probes of its own (probed_driver/). It waits for somebody who
 * reads them, prints "probed" or "not probed", loads a zebin, whose image the driver writes to a path, and
 * launches "tiny" and "busy" 40 times each. Arguments: zebin, path, then any number of
 *
 *	oddly		by probes whose arguments stand in other places
 *	PATH		says that an image is there, which need not be true
 *
 *	cost DEPTH ROUNDS	instead of launches, for bench/: rounds of 500 hits of the probe, with pauses,
 *			so many calls below main. Prints the CPU time that a hit takes its thread, in
 *			nanoseconds (median of the rounds), and the CPU seconds of the process
 *
 * $PROBED_BESIDE_LIBRARY: it uses Level Zero's loader, too, from just before it launches anything.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "probed_driver/driver.h"

#define STEP	    __attribute__((noinline, used))
#define FILE_MAX    (1u << 20)
#define PATIENCE_MS 10000

static uint8_t zebin[FILE_MAX];
static int oddly;

STEP static int launch(const char *name)
{
	return driver_launch(name, oddly) + 1;
}

STEP static int launch_tiny(void)
{
	return launch("tiny") + 1;
}

STEP static int launch_busy(void)
{
	return launch("busy") + 2;
}

static size_t read_zebin(const char *path)
{
	FILE *f = fopen(path, "rb");
	size_t size = f ? fread(zebin, 1, sizeof(zebin), f) : 0;

	if (!size)
		exit(2);
	fclose(f);
	return size;
}

static void do_as_told(const char *what)
{
	if (!strcmp(what, "oddly"))
		oddly = 1;
	else
		driver_lie(what);
}

/* As a program does that uses Level Zero by its loader. */
static void begin_library(void)
{
	void *loader = dlopen("libze_loader.so.1", RTLD_NOW | RTLD_GLOBAL);
	int (*init)(unsigned int) =
		loader ? (int (*)(unsigned int))dlsym(RTLD_DEFAULT, "zeInit") : NULL;

	if (!init || init(0))
		exit(3);
}

#define HITS	   500 /* as many as the recorder has time to read */
#define ROUNDS_MAX 1000

static uint64_t cpu_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

STEP static uint64_t time_hits(int depth)
{
	volatile uint64_t took_ns;
	uint64_t start_ns;

	if (depth > 1) {
		took_ns = time_hits(depth - 1);
		return took_ns;
	}
	start_ns = cpu_ns(CLOCK_THREAD_CPUTIME_ID);
	for (int n = 0; n < HITS; n++)
		driver_say_launch();
	return cpu_ns(CLOCK_THREAD_CPUTIME_ID) - start_ns;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static int print_cost(int depth, int rounds)
{
	static uint64_t took_ns[ROUNDS_MAX + 1];

	for (int n = 0; n < rounds && n < ROUNDS_MAX; n++) {
		took_ns[n] = time_hits(depth);
		nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
	}
	qsort(took_ns, (size_t)rounds, sizeof(*took_ns), by_value);
	printf("%.1f %.6f\n", (double)took_ns[rounds / 2] / HITS,
		(double)cpu_ns(CLOCK_PROCESS_CPUTIME_ID) / 1e9);
	return 0;
}

int main(int argc, char **argv)
{
	const char *patience = getenv("PROBED_PATIENCE_MS");
	size_t size = argc > 2 ? read_zebin(argv[1]) : 0;
	int sum = 0;

	if (!size)
		return 2;
	printf("%s\n", driver_is_probed(patience ? atoi(patience) : PATIENCE_MS) ? "probed"
										 : "not probed");
	driver_load(zebin, size, argv[2]);
	if (argc == 6 && !strcmp(argv[3], "cost"))
		return print_cost(atoi(argv[4]), atoi(argv[5]));
	for (int i = 3; i < argc; i++)
		do_as_told(argv[i]);
	if (getenv("PROBED_BESIDE_LIBRARY"))
		begin_library();
	for (int n = 0; n < 40; n++)
		sum += launch_tiny() + launch_busy();
	return sum ? 0 : 1;
}
