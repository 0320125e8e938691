// SPDX-License-Identifier: MIT
/*
 * For how long a program's threads are kept from their work while a library is put into it
 * (src/join/).
 *
 *	join LIBRARY ENTRY [JOINS]
 *
 * Two programs are joined: one whose only thread calculates, so that it is the one that is
 * borrowed, and one with four more that wait. The thread that calculates looks at the clock all the
 * time: what it misses at once is a gap. A stop is from the request to the release, the thread's
 * way to the stop included.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "join/join.h"
#include "join/tracee.h"
#include "sandbox/sandbox.h"

#define JOINS_MAX 1000

/* Of one join; in memory that all processes share. */
struct seen {
	uint64_t stops_ns, longest_stop_ns, count;
	uint64_t gap_ns;
};

static struct seen *seen;
static uint64_t stopped_ns;

int __real_tracee_stop(struct tracee *t, pid_t tid);
int __wrap_tracee_stop(struct tracee *t, pid_t tid);
void __real_tracee_go(const struct tracee *t);
void __wrap_tracee_go(const struct tracee *t);

static void note_stop(void)
{
	uint64_t ns = clock_now_ns() - stopped_ns;

	seen->stops_ns += ns;
	seen->count++;
	if (ns > seen->longest_stop_ns)
		seen->longest_stop_ns = ns;
}

int __wrap_tracee_stop(struct tracee *t, pid_t tid)
{
	int error;

	stopped_ns = clock_now_ns();
	error = __real_tracee_stop(t, tid);
	if (error)
		note_stop();
	return error;
}

void __wrap_tracee_go(const struct tracee *t)
{
	__real_tracee_go(t);
	note_stop();
}

static void *wait_often(void *context)
{
	for (;;)
		usleep(1000);
	return context;
}

static void calculate(void)
{
	uint64_t before_ns = clock_now_ns();

	for (;;) {
		uint64_t now_ns = clock_now_ns(), gap_ns = now_ns - before_ns;

		if (gap_ns > seen->gap_ns)
			seen->gap_ns = gap_ns;
		before_ns = now_ns;
	}
}

static pid_t start_program(int waiting)
{
	pid_t child = fork();
	pthread_t thread;

	if (child)
		return child;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int n = 0; n < waiting; n++)
		pthread_create(&thread, NULL, wait_often, NULL);
	calculate();
	return 0;
}

static int join_once(struct join_options *options)
{
	struct join *j;
	struct join_result result;
	int error = join_begin(&j, options) ?: join_end(j, &result);
	char byte[64];

	if (error)
		return error;
	shutdown(result.socket, SHUT_WR);
	while (recv(result.socket, byte, sizeof(byte), 0) > 0)
		;
	close(result.socket);
	usleep(20000); /* what is left to do there */
	return 0;
}

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void print(const char *what, uint64_t *ns, size_t count)
{
	qsort(ns, count, sizeof(*ns), by_number);
	printf("| %s | %.3f | %.3f | %.3f |\n", what, (double)ns[count / 2] / 1e6,
		(double)ns[count * 95 / 100] / 1e6, (double)ns[count - 1] / 1e6);
}

/* Nobody joins it: what it misses then is the system's. */
static void measure_alone(size_t times, uint64_t *ret_gaps)
{
	for (size_t n = 0; n < times; n++) {
		*seen = (struct seen){0};
		usleep(60000);
		ret_gaps[n] = seen->gap_ns;
	}
}

static int measure(const char *name, int waiting, struct join_options *options, size_t times)
{
	static uint64_t stops[JOINS_MAX], longest[JOINS_MAX], gaps[JOINS_MAX], alone[JOINS_MAX];
	pid_t program = start_program(waiting);
	size_t count = 0, refused = 0;

	options->pid = (uint32_t)program;
	usleep(200000);
	measure_alone(times, alone);
	for (size_t n = 0; n < times; n++) {
		*seen = (struct seen){0};
		if (join_once(options)) {
			fprintf(stderr, "%s\n", error_text());
			refused++;
			continue;
		}
		stops[count] = seen->stops_ns;
		longest[count] = seen->longest_stop_ns;
		gaps[count++] = seen->gap_ns;
	}
	kill(program, SIGKILL);
	waitpid(program, NULL, 0);
	printf("\n%s, %zu joins (%zu refused)\n\n| ms | median | 95 %% | longest "
	       "|\n|---|---|---|---|\n",
		name, count, refused);
	if (!count)
		return 1;
	print("longest stop of a join", longest, count);
	print("all stops of a join", stops, count);
	print("longest gap of the thread that calculates", gaps, count);
	print("the same, not joined", alone, times);
	return 0;
}

int main(int argc, char **argv)
{
	struct join_options options;
	size_t times = argc > 3 ? strtoul(argv[3], NULL, 10) : 100;

	if (argc == 3 && !strcmp(argv[1], SANDBOX_COMMAND))
		return sandbox_run(argv[2]);
	if (argc < 3 || times > JOINS_MAX)
		return 2;
	seen = mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	options = (struct join_options){.sandbox = "/proc/self/exe",
		.library = open(argv[1], O_RDONLY | O_CLOEXEC),
		.entry = argv[2]};
	if (seen == MAP_FAILED || options.library < 0)
		return 2;
	return measure("One thread, which calculates", 0, &options, times) |
	       measure("Four threads that wait, and one that calculates", 4, &options, times);
}
