// SPDX-License-Identifier: MIT
/*
 * Threads that switch as often as they can.
 *
 *	off_cpu SECONDS [PAIRS]
 *
 * Each pair of threads shares a CPU, pair after pair another one, and hands a byte to and fro
 * through two pipes: two switches a round, and nothing else. Prints how many switches there were,
 * and the ns of CPU time they took: what others on the machine do is not in it.
 */
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

#define PAIRS_MAX 64

struct pair {
	int there[2], back[2];
	cpu_set_t cpu;
	uint64_t until_ns;
	uint64_t rounds;
	pthread_t threads[2];
};

static void stay(const struct pair *p)
{
	if (pthread_setaffinity_np(pthread_self(), sizeof(p->cpu), &p->cpu))
		perror("off_cpu: cannot choose a CPU");
}

static void *answer(void *context)
{
	struct pair *p = context;
	char byte;

	stay(p);
	while (read(p->there[0], &byte, 1) == 1 && write(p->back[1], &byte, 1) == 1)
		;
	return NULL;
}

static void *ask(void *context)
{
	struct pair *p = context;
	char byte = 'x';

	stay(p);
	while (clock_now_ns() < p->until_ns) {
		if (write(p->there[1], &byte, 1) != 1 || read(p->back[0], &byte, 1) != 1)
			break;
		p->rounds++;
	}
	close(p->there[1]);
	return NULL;
}

/* The n-th of the CPUs that the program may use, beginning anew behind the last. */
static cpu_set_t nth_cpu(int n)
{
	cpu_set_t allowed, one;
	int cpu = -1;

	sched_getaffinity(0, sizeof(allowed), &allowed);
	for (n %= CPU_COUNT(&allowed); n >= 0; n--)
		for (cpu++; !CPU_ISSET(cpu, &allowed); cpu++)
			;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	return one;
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 2;
	int count = argc > 2 ? atoi(argv[2]) : (int)sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t start_ns = clock_now_ns(), switches = 0;
	static struct pair pairs[PAIRS_MAX];
	struct timespec cpu;

	if (count < 1 || count > PAIRS_MAX)
		return 2;
	for (int n = 0; n < count; n++) {
		struct pair *p = &pairs[n];

		p->cpu = nth_cpu(n);
		p->until_ns = start_ns + (uint64_t)(seconds * 1e9);
		if (pipe(p->there) || pipe(p->back))
			return 1;
		pthread_create(&p->threads[0], NULL, answer, p);
		pthread_create(&p->threads[1], NULL, ask, p);
	}
	for (int n = 0; n < count; n++) {
		pthread_join(pairs[n].threads[0], NULL);
		pthread_join(pairs[n].threads[1], NULL);
		switches += 2 * pairs[n].rounds;
	}
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
	printf("%" PRIu64 " %" PRIu64 "\n", switches,
		(uint64_t)cpu.tv_sec * 1000000000 + (uint64_t)cpu.tv_nsec);
	return 0;
}
