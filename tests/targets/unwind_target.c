// SPDX-License-Identifier: MIT
/*
 * Stacks that are hard to unwind, for tests/unit/unwind_truth_test.c, which stops it anywhere. It
 * is built without frame pointers and with calls bound when they are first made. Runs until it is
 * killed.
 */
#include <alloca.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifdef __clang__
#define HARD __attribute__((noinline))
#else
#define HARD __attribute__((noinline, noclone))
#endif

static volatile uint64_t sink;
static jmp_buf back;

HARD static uint64_t leaf(uint64_t x)
{
	for (int i = 0; i < 8; i++)
		x = x * 6364136223846793005ull + 1442695040888963407ull;
	return x;
}

/* The stack is realigned: the CFA is in memory. */
HARD static uint64_t realigned(uint64_t x)
{
	_Alignas(64) volatile uint64_t room[16];

	for (int i = 0; i < 16; i++)
		room[i] = leaf(x + (uint64_t)i);
	return room[x % 16];
}

/* And with room whose size is not known, also through the frame pointer. */
HARD static uint64_t realigned_and_growing(uint64_t x)
{
	_Alignas(32) volatile uint64_t room[8];
	volatile uint8_t *more = alloca(x % 512 + 1);

	more[0] = (uint8_t)x;
	room[x % 8] = realigned(x);
	return room[x % 8] + more[0];
}

HARD static uint64_t growing(uint64_t x)
{
	volatile uint8_t *room = alloca(x % 300 + 1);

	room[0] = (uint8_t)realigned_and_growing(x);
	return room[0];
}

/* Arguments that are pushed, and more registers than there are. */
HARD static uint64_t many(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f,
	uint64_t g, uint64_t h, uint64_t i)
{
	uint64_t x = leaf(a), y = leaf(b), z = growing(c);

	return x ^ y ^ z ^ leaf(d + e + f) ^ leaf(g + h + i) ^ x * y * z;
}

HARD static uint64_t deep(uint64_t x, unsigned int depth)
{
	if (!depth)
		return many(x, x + 1, x + 2, x + 3, x + 4, x + 5, x + 6, x + 7, x + 8);
	return deep(leaf(x), depth - 1) + 1;
}

static int compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	sink = leaf(*x);
	return *x < *y ? -1 : *x > *y;
}

static void on_signal(int number)
{
	sink = deep(sink, 3);
}

static void on_alternate_stack(int number, siginfo_t *info, void *context)
{
	sink = growing(sink);
	if (number == SIGUSR2)
		raise(SIGUSR1);
}

HARD static void jump(uint64_t x)
{
	sink = leaf(x);
	longjmp(back, 1);
}

HARD static void jump_and_return(uint64_t x)
{
	if (!setjmp(back))
		jump(x);
}

static void through_the_library(uint64_t x)
{
	uint64_t items[40];
	char text[128];
	struct timespec now;

	for (int i = 0; i < 40; i++)
		items[i] = leaf(x + (uint64_t)i);
	qsort(items, 40, sizeof(items[0]), compare);
	snprintf(text, sizeof(text), "%.3f %s %zu", (double)items[0] / 3, "text", strlen("more"));
	sink = strtoull(text, NULL, 10) + (uint64_t)strcmp(text, "x");
	clock_gettime(CLOCK_MONOTONIC, &now);
	sink = (uint64_t)now.tv_nsec + (uint64_t)syscall(SYS_getppid);
	free(malloc((size_t)(x % 4000)));
}

int main(void)
{
	static uint8_t alternate[65536];
	stack_t stack = {.ss_sp = alternate, .ss_size = sizeof(alternate)};
	struct sigaction action = {
		.sa_sigaction = on_alternate_stack, .sa_flags = SA_ONSTACK | SA_SIGINFO};

	sigaltstack(&stack, NULL);
	signal(SIGUSR1, on_signal);
	sigaction(SIGUSR2, &action, NULL);
	for (uint64_t i = 0;; i++) {
		sink = deep(i, 1 + (unsigned int)(i % 20));
		through_the_library(i);
		raise(i % 8 ? SIGUSR1 : SIGUSR2);
		jump_and_return(i);
	}
}
