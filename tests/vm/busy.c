// SPDX-License-Identifier: MIT
/*
 * Keeps CPUs busy under known functions, in the main thread and in another one: main and in_thread
 * call outer, that middle, that inner.
 *
 * usage: busy MILLISECONDS
 *
 * Built with frame pointers and without (busy_frameless).
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static int busy_ms;
static volatile uint64_t start; /* so that no function is made for one argument only */

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

__attribute__((noinline)) static uint64_t inner(uint64_t n)
{
	int64_t end_ns = now_ns() + busy_ms * INT64_C(1000000);

	while (now_ns() < end_ns)
		for (int i = 0; i < 10000; i++)
			__asm__ volatile("" : "+r"(n) : : "memory");
	return n + 1;
}

__attribute__((noinline)) static uint64_t middle(uint64_t n)
{
	volatile uint64_t buffer[20] = {n}; /* so that there is a frame */

	buffer[19] = inner(buffer[0]);
	return buffer[19] + 1;
}

__attribute__((noinline)) static uint64_t outer(uint64_t n)
{
	return middle(n) + 1;
}

static void *in_thread(void *argument)
{
	*(uint64_t *)argument = outer(start);
	return argument;
}

int main(int argc, char **argv)
{
	uint64_t result = 0;
	pthread_t thread;

	busy_ms = argc > 1 ? atoi(argv[1]) : 1000;
	if (pthread_create(&thread, NULL, in_thread, &result))
		return 1;
	if (outer(start) != 3 || pthread_join(thread, NULL) || result != 3)
		return 1;
	puts("done");
	return 0;
}
