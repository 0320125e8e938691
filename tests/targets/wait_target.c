// SPDX-License-Identifier: MIT
/*
 * Waits in every known way, each in a function of its own, and says how long by itself.
 *
 *	wait_target known FILE    one way after the other; FILE is made for page faults
 *	wait_target lengths       20 sleeps of 1 ms and 5 of 20 ms
 *	wait_target threads       200 threads, a few at a time, which sleep and end
 *	wait_target crowd         600 threads at once, which sleep several times and end
 *	wait_target storm MS [N]  two threads that wake each other through pipes, as often as they can; one waits in N functions'
 *	                          calls of each other in turn
 *	wait_target long MS       one sleep
 *
 * Lines of output: function and thread id of each call, when it began and ended (CLOCK_MONOTONIC),
 * and the ns that the thread was off its CPU there, at least and at most; and after "lock" who let
 * it go.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS	   10
#define FEW_ROUNDS 5
#define PAGES	   64
#define PAGE_BYTES 4096
#define STRIDE	   32 /* pages between two that are touched: behind what is read ahead */
#define HOGS	   3
#define HOG_NS	   20000000

#define WAY __attribute__((noinline, noclone))

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;
static int pipe_fds[2];

static uint64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void fail(const char *what)
{
	fprintf(stderr, "wait_target: %s: %s\n", what, strerror(errno));
	exit(1);
}

static WAY void sleep_us(unsigned us)
{
	struct timespec t = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};

	nanosleep(&t, NULL);
}

/* ------------------------------------------------------------------ ways to wait */

static WAY void take_lock(void)
{
	pthread_mutex_lock(&mutex);
	__asm__ volatile("");
}

static WAY void read_pipe(void)
{
	char byte;

	if (read(pipe_fds[0], &byte, 1) != 1)
		fail("cannot read");
	__asm__ volatile("");
}

static WAY void sleep_a_while(void)
{
	sleep_us(10000);
	__asm__ volatile("");
}

static WAY void poll_pipe(void)
{
	struct pollfd fd = {.fd = pipe_fds[0], .events = POLLIN};

	poll(&fd, 1, 10);
	__asm__ volatile("");
}

static pid_t child;

static WAY void wait_for_child(void)
{
	waitpid(child, NULL, 0);
	__asm__ volatile("");
}

static WAY void be_stopped(void)
{
	raise(SIGSTOP);
	__asm__ volatile("");
}

static volatile const uint8_t *pages;

static WAY void touch_pages(void)
{
	for (int n = 0; n < PAGES; n++)
		(void)pages[(size_t)n * STRIDE * PAGE_BYTES];
}

static WAY void hog(void)
{
	uint64_t end_ns = now_ns(CLOCK_THREAD_CPUTIME_ID) + HOG_NS;

	while (now_ns(CLOCK_THREAD_CPUTIME_ID) < end_ns)
		for (volatile int n = 0; n < 100000; n++)
			;
}

/* ------------------------------------------------------------------ measuring them */

/*
 * The time off its CPU is that which elapsed, less that on it. Two clocks cannot be read at one
 * moment, and any time may pass between: that on the CPU is of more than the call, and of less than
 * what elapsed around all of it.
 */
static void measure(const char *name, void (*way)(void))
{
	uint64_t before_ns = now_ns(CLOCK_MONOTONIC), cpu_ns = now_ns(CLOCK_THREAD_CPUTIME_ID);
	uint64_t begin_ns = now_ns(CLOCK_MONOTONIC), end_ns, after_ns;

	way();
	end_ns = now_ns(CLOCK_MONOTONIC);
	cpu_ns = now_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
	after_ns = now_ns(CLOCK_MONOTONIC);
	printf("%s %d %" PRIu64 " %" PRIu64 " %" PRId64 " %" PRId64 "\n", name, gettid(), begin_ns,
		end_ns, (int64_t)(end_ns - begin_ns - cpu_ns),
		(int64_t)(after_ns - before_ns - cpu_ns));
}

static void *hold_lock(void *unused)
{
	for (int n = 0; n < ROUNDS; n++) {
		pthread_mutex_lock(&mutex);
		pthread_barrier_wait(&barrier);
		sleep_us(10000);
		pthread_mutex_unlock(&mutex);
		pthread_barrier_wait(&barrier);
	}
	printf("lock %d\n", gettid());
	return NULL;
}

static void wait_for_lock(void)
{
	pthread_t holder;

	pthread_barrier_init(&barrier, NULL, 2);
	pthread_create(&holder, NULL, hold_lock, NULL);
	for (int n = 0; n < ROUNDS; n++) {
		pthread_barrier_wait(&barrier);
		measure("take_lock", take_lock);
		pthread_mutex_unlock(&mutex);
		pthread_barrier_wait(&barrier);
	}
	pthread_join(holder, NULL);
}

static void *feed_pipe(void *unused)
{
	for (int n = 0; n < ROUNDS; n++) {
		sleep_us(10000);
		if (write(pipe_fds[1], "x", 1) != 1)
			fail("cannot write");
	}
	return NULL;
}

static void wait_for_pipe(void)
{
	pthread_t feeder;

	pthread_create(&feeder, NULL, feed_pipe, NULL);
	for (int n = 0; n < ROUNDS; n++)
		measure("read_pipe", read_pipe);
	pthread_join(feeder, NULL);
}

static void wait_for_time(void)
{
	for (int n = 0; n < ROUNDS; n++) {
		measure("sleep_a_while", sleep_a_while);
		measure("poll_pipe", poll_pipe);
	}
}

static void wait_for_processes(void)
{
	for (int n = 0; n < FEW_ROUNDS; n++) {
		child = fork();
		if (!child) {
			sleep_us(20000);
			_exit(0);
		}
		measure("wait_for_child", wait_for_child);
	}
}

/* The state of a process is the first letter behind its name in brackets (proc_pid_stat(5)). */
static bool is_stopped(pid_t pid)
{
	char path[64], text[512] = {0};
	const char *at;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "r");
	if (!file)
		fail(path);
	at = fgets(text, sizeof(text), file) ? strrchr(text, ')') : NULL;
	fclose(file);
	return at && at[2] == 'T';
}

static void be_stopped_by_child(void)
{
	pid_t parent = getpid(), pid = fork();

	if (!pid) {
		while (!is_stopped(parent))
			sleep_us(1000);
		sleep_us(20000);
		kill(parent, SIGCONT);
		_exit(0);
	}
	measure("be_stopped", be_stopped);
	waitpid(pid, NULL, 0);
}

/* Puts a file on disk and out of memory. */
static int make_file(const char *path, size_t size)
{
	char block[PAGE_BYTES * STRIDE] = {1};
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);

	if (fd < 0)
		fail(path);
	for (size_t at = 0; at < size; at += sizeof(block))
		if (write(fd, block, sizeof(block)) != (ssize_t)sizeof(block))
			fail(path);
	if (fsync(fd) || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED))
		fail(path);
	return fd;
}

static int count_absent(void *map, size_t size)
{
	unsigned char there[PAGES * STRIDE];
	int absent = 0;

	if (mincore(map, size, there))
		fail("mincore");
	for (int n = 0; n < PAGES; n++)
		absent += !(there[n * STRIDE] & 1);
	return absent;
}

static void read_in(const char *path)
{
	size_t size = (size_t)PAGES * STRIDE * PAGE_BYTES;
	int fd = make_file(path, size);
	void *map = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);

	if (map == MAP_FAILED || madvise(map, size, MADV_RANDOM))
		fail(path);
	pages = map;
	printf("absent %d\n", count_absent(map, size));
	measure("touch_pages", touch_pages);
	munmap(map, size);
	close(fd);
	unlink(path);
}

static void *be_hog(void *cpu)
{
	if (pthread_setaffinity_np(pthread_self(), sizeof(cpu_set_t), cpu))
		fail("cannot choose a CPU");
	pthread_barrier_wait(&barrier);
	for (int n = 0; n < FEW_ROUNDS; n++)
		measure("hog", hog);
	return NULL;
}

static void wait_for_cpu(void)
{
	pthread_t hogs[HOGS];
	cpu_set_t allowed, one;
	int cpu = 0;

	sched_getaffinity(0, sizeof(allowed), &allowed);
	while (!CPU_ISSET(cpu, &allowed))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	pthread_barrier_init(&barrier, NULL, HOGS);
	for (int n = 0; n < HOGS; n++)
		pthread_create(&hogs[n], NULL, be_hog, &one);
	for (int n = 0; n < HOGS; n++)
		pthread_join(hogs[n], NULL);
}

/* ------------------------------------------------------------------ the others */

static void sleep_in_lengths(void)
{
	for (int n = 0; n < 20; n++)
		sleep_us(1000);
	for (int n = 0; n < 5; n++)
		sleep_us(20000);
}

static void *be_short(void *unused)
{
	sleep_us(200);
	return NULL;
}

static void make_threads(void)
{
	pthread_t threads[8];

	for (int n = 0; n < 200 / 8; n++) {
		for (int i = 0; i < 8; i++)
			pthread_create(&threads[i], NULL, be_short, NULL);
		for (int i = 0; i < 8; i++)
			pthread_join(threads[i], NULL);
	}
}

#define CROWD 600

static pthread_barrier_t everybody;

static void *be_one_of_many(void *unused)
{
	pthread_barrier_wait(&everybody);
	for (int n = 0; n < 5; n++)
		sleep_us(200);
	pthread_barrier_wait(&everybody);
	return NULL;
}

static void make_crowd(void)
{
	static pthread_t threads[CROWD];

	pthread_barrier_init(&everybody, NULL, CROWD);
	for (int i = 0; i < CROWD; i++)
		if (pthread_create(&threads[i], NULL, be_one_of_many, NULL))
			fail("pthread_create");
	for (int i = 0; i < CROWD; i++)
		pthread_join(threads[i], NULL);
}

static int back_fds[2];

static WAY void *answer(void *unused)
{
	char byte;

	while (read(pipe_fds[0], &byte, 1) == 1 && write(back_fds[1], &byte, 1) == 1)
		;
	return NULL;
}

/* Reads so many calls further down: where that is on the stack makes it another place. */
static WAY ssize_t read_below(uint64_t calls, char *byte)
{
	volatile ssize_t got = calls ? read_below(calls - 1, byte) : read(back_fds[0], byte, 1);

	return got;
}

static void storm(uint64_t ms, uint64_t depths)
{
	uint64_t end_ns = now_ns(CLOCK_MONOTONIC) + ms * 1000000, rounds = 0;
	pthread_t thread;
	char byte = 'x';

	if (pipe(back_fds))
		fail("pipe");
	pthread_create(&thread, NULL, answer, NULL);
	for (; now_ns(CLOCK_MONOTONIC) < end_ns; rounds++)
		if (write(pipe_fds[1], &byte, 1) != 1 || read_below(rounds % depths, &byte) != 1)
			fail("pipe");
	close(pipe_fds[1]);
	pthread_join(thread, NULL);
	printf("rounds %" PRIu64 "\n", rounds);
}

int main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "", *argument = argc > 2 ? argv[2] : "1";

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (pipe(pipe_fds))
		fail("pipe");
	if (!strcmp(way, "known")) {
		wait_for_lock();
		wait_for_pipe();
		wait_for_time();
		wait_for_processes();
		for (int n = 0; n < FEW_ROUNDS; n++)
			be_stopped_by_child();
		read_in(argument);
		wait_for_cpu();
	} else if (!strcmp(way, "lengths")) {
		sleep_in_lengths();
	} else if (!strcmp(way, "threads")) {
		make_threads();
	} else if (!strcmp(way, "crowd")) {
		make_crowd();
	} else if (!strcmp(way, "storm")) {
		storm(strtoull(argument, NULL, 10), argc > 3 ? strtoull(argv[3], NULL, 10) : 1);
	} else if (!strcmp(way, "long")) {
		sleep_us((unsigned)strtoul(argument, NULL, 10) * 1000);
	} else {
		fprintf(stderr, "usage: wait_target known FILE|lengths|threads|crowd|storm MS "
				"[N]|long MS\n");
		return 2;
	}
	return 0;
}
