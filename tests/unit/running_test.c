// SPDX-License-Identifier: MIT
/* Which processes run, as /proc shows them (capture/running.h). */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "capture/running.h"
#include "tap.h"

static void a_process_is_alive_until_it_ends_reaped_or_not(void)
{
	siginfo_t info;
	pid_t pid = fork();

	if (!pid) {
		pause();
		_exit(0);
	}
	CHECK(running_is_alive((uint32_t)getpid()) && running_is_alive((uint32_t)pid));
	CHECK(running_parent((uint32_t)pid) == (uint32_t)getpid());
	CHECK(!kill(pid, SIGKILL) && !waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT));
	CHECK(!running_is_alive((uint32_t)pid));
	CHECK(waitpid(pid, NULL, 0) == pid);
	CHECK(!running_is_alive((uint32_t)pid) && !running_parent((uint32_t)pid));
}

static void *wait_for_ever(void *to)
{
	(void)!write(*(int *)to, "", 1);
	for (;;)
		pause();
	return NULL;
}

static void leave_a_thread(int to)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, wait_for_ever, &to))
		_exit(1);
	syscall(SYS_exit, 0); /* this thread alone */
}

static void a_process_whose_first_thread_has_ended_is_alive(void)
{
	static const struct timespec moment = {.tv_nsec = 10000000};
	char byte, state = 0;
	int ends[2], pid;

	CHECK(!pipe(ends));
	pid = fork();
	if (!pid)
		leave_a_thread(ends[1]);
	CHECK(read(ends[0], &byte, 1) == 1);
	for (int tries = 0; tries < 1000 && state != 'Z'; tries++) {
		char path[32];
		FILE *stat;

		snprintf(path, sizeof(path), "/proc/%d/stat", pid);
		stat = fopen(path, "r");
		if (!stat || fscanf(stat, "%*d %*s %c", &state) != 1)
			state = 0;
		if (stat)
			fclose(stat);
		nanosleep(&moment, NULL);
	}
	CHECK(state == 'Z' && running_is_alive((uint32_t)pid));
	kill(pid, SIGKILL);
	CHECK(waitpid(pid, NULL, 0) == pid);
	close(ends[0]);
	close(ends[1]);
}

int main(void)
{
	RUN(a_process_is_alive_until_it_ends_reaped_or_not);
	RUN(a_process_whose_first_thread_has_ended_is_alive);
	return tap_end();
}
