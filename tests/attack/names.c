// SPDX-License-Identifier: MIT
/* Spins in a function whose name the test has replaced by another of the same length, in a process
 * and a thread with names of its arguments: names PROCESS THREAD */
#include <pthread.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

/* The symbol that is replaced, and the loop that it names. */
void name_of_32_bytes_that_is_changed(void);

static volatile unsigned long count;

__attribute__((noinline, noclone)) void name_of_32_bytes_that_is_changed(void)
{
	for (;;)
		count++;
}

static void *spin(void *name)
{
	prctl(PR_SET_NAME, name);
	name_of_32_bytes_that_is_changed();
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc != 3)
		return 2;
	alarm(30);
	prctl(PR_SET_NAME, argv[1]);
	if (pthread_create(&thread, NULL, spin, argv[2]))
		return 1;
	puts("ready");
	fflush(stdout);
	name_of_32_bytes_that_is_changed();
	return 0;
}
