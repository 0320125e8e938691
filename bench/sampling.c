// SPDX-License-Identifier: MIT
/*
 * Work for bench/sampling.sh: processes that compute at the bottom of 60 frames without frame
 * pointers (rules.mk), for so many seconds, one for each CPU unless told; and programs that are
 * started meanwhile, so many a second. Prints how many million rounds all of them made.
 *
 *	sampling SECONDS [PROCESSES [STARTS]]
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

#define DEPTH  60
#define ROUNDS 1000000

static uint64_t until_ns;

__attribute__((noinline)) static uint64_t compute(uint64_t seed)
{
	uint64_t millions = 0;

	for (; clock_now_ns() < until_ns; millions++)
		for (int i = 0; i < ROUNDS; i++) {
			seed = seed * 6364136223846793005ull + 1442695040888963407ull;
			__asm__ volatile("" : "+r"(seed));
		}
	return millions;
}

__attribute__((noinline)) static uint64_t descend(int depth, uint64_t seed)
{
	volatile uint64_t room[12] = {seed};
	uint64_t result = depth ? descend(depth - 1, seed * 3) : compute(seed);

	room[1] = room[0];
	return result;
}

static void start_programs(uint64_t starts)
{
	char *const arguments[] = {"true", NULL};

	while (clock_now_ns() < until_ns) {
		pid_t pid = vfork();

		if (!pid) {
			execv("/bin/true", arguments);
			_exit(1);
		}
		waitpid(pid, NULL, 0);
		usleep((useconds_t)(1000000 / starts));
	}
}

int main(int argc, char **argv)
{
	long processes = argc > 2 ? strtol(argv[2], NULL, 10) : sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t *millions = mmap(
		NULL, sizeof(*millions), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (millions == MAP_FAILED || argc < 2)
		return 1;
	until_ns = clock_now_ns() + strtoull(argv[1], NULL, 10) * NS_PER_SECOND;
	for (long i = 0; i < processes; i++)
		if (!fork()) {
			__atomic_fetch_add(millions, descend(DEPTH, (uint64_t)i), __ATOMIC_RELAXED);
			_exit(0);
		}
	if (argc > 3)
		start_programs(strtoull(argv[3], NULL, 10));
	while (wait(NULL) > 0)
		;
	printf("%lu\n", *millions);
	return 0;
}
