// SPDX-License-Identifier: MIT
/*
 * Threads that wait, each in a function of its own, before anybody records them:
 *
 *	asleep_target [MORE]    MORE threads wait in a crowd
 *
 * "asleep" is printed once all are about to wait. They never wake up, but for one: that one waits
 * for a line of input (wait_for_line), and then for ever (wait_after_line), as "woken" says.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#define WAY	    __attribute__((noinline, noclone))
#define CROWD_STACK (128 << 10)

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, never = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static volatile int over; /* 0 */
static atomic_uint begun;
static int pipe_fds[2];

static void fail(const char *what)
{
	fprintf(stderr, "asleep_target: %s: %s\n", what, strerror(errno));
	exit(1);
}

static WAY void sleep_long(void)
{
	nanosleep(&(struct timespec){.tv_sec = 1000000}, NULL);
	__asm__ volatile("");
}

static WAY void take_lock(void)
{
	pthread_mutex_lock(&never);
	__asm__ volatile("");
}

static WAY void wait_condition(void)
{
	pthread_mutex_lock(&mutex);
	while (!over)
		pthread_cond_wait(&condition, &mutex);
}

static WAY void read_pipe(void)
{
	char byte;

	if (read(pipe_fds[0], &byte, 1) != 1)
		fail("cannot read");
	__asm__ volatile("");
}

/* Its caller's frame has another size each time: only the frame pointer says where it ends. */
static WAY void read_with_room(size_t size)
{
	char room[size];

	memset(room, 0, size);
	read_pipe();
	__asm__ volatile("" : : "r"(room) : "memory");
}

static WAY void wait_for_events(void)
{
	struct epoll_event event;
	int epoll = epoll_create1(0);

	if (epoll_wait(epoll, &event, 1, -1) < 0)
		fail("cannot wait for events");
	__asm__ volatile("");
}

static WAY void wait_below(int depth)
{
	if (depth)
		wait_below(depth - 1);
	else
		wait_condition();
	__asm__ volatile("");
}

static WAY void wait_in_crowd(void)
{
	wait_condition();
	__asm__ volatile("");
}

static WAY void wait_after_line(void)
{
	sleep_long();
	__asm__ volatile("");
}

static WAY void wait_for_line(void)
{
	char line[8];

	if (read(STDIN_FILENO, line, sizeof(line)) <= 0)
		pause();
}

static void be_called_room(void)
{
	read_with_room((size_t)getpid() % 5000 + 100);
	__asm__ volatile("");
}

static void be_deep(void)
{
	wait_below(500);
	__asm__ volatile("");
}

static void be_woken(void)
{
	wait_for_line();
	puts("woken");
	wait_after_line();
}

static void *begin(void *way)
{
	begun++;
	((void (*)(void))(uintptr_t)way)();
	return NULL;
}

int main(int argc, char **argv)
{
	static void (*const ways[])(void) = {sleep_long, take_lock, wait_condition, read_pipe,
		be_called_room, wait_for_events, be_deep, be_woken};
	const unsigned count = sizeof(ways) / sizeof(*ways);
	unsigned more = argc > 1 ? (unsigned)atoi(argv[1]) : 0;
	pthread_attr_t small;
	pthread_t thread;

	setvbuf(stdout, NULL, _IOLBF, 0);
	pthread_mutex_lock(&never);
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, CROWD_STACK);
	if (pipe(pipe_fds))
		fail("cannot make a pipe");
	for (unsigned n = 0; n < count + more; n++)
		if (pthread_create(&thread, n < count ? NULL : &small, begin,
			    (void *)(uintptr_t)(n < count ? ways[n] : wait_in_crowd)))
			fail("cannot make a thread");
	while (begun < count + more)
		sched_yield();
	puts("asleep");
	pthread_join(thread, NULL);
	return 0;
}
