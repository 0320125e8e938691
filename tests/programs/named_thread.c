// SPDX-License-Identifier: MIT
/*
 * Has a thread that is called as the profiler's own is, and waits for all the time that GPU work
 * runs:
 *
 *	named_thread [family]
 *
 * With "family" two children do so beside it, one that is only forked, has no GPU and the thread
 * alone, and one that executes this program. Each prints its pid (as it sees it), whether it has a
 * GPU, and the thread's tid, as a JSON object on a line.
 */
#define GPU_OWN_KERNELS GPU_KERNEL("work_us100000")

#include "gpu.h"

#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 3 };

static pthread_mutex_t busy = PTHREAD_MUTEX_INITIALIZER;

STAGE void wait_for_rounds(void)
{
	pthread_mutex_lock(&busy);
	pthread_mutex_unlock(&busy);
}

static void *watch(void *has_gpu)
{
	prctl(PR_SET_NAME, "xpuprof");
	printf("{\"pid\": %d, \"gpu\": %s, \"tid\": %ld}\n", getpid(), has_gpu ? "true" : "false",
		syscall(SYS_gettid));
	fflush(stdout);
	wait_for_rounds();
	return NULL;
}

/* `work` while the thread waits. */
static void with_thread(bool has_gpu, void (*work)(void))
{
	pthread_t thread;

	pthread_mutex_lock(&busy);
	if (pthread_create(&thread, NULL, watch, has_gpu ? &busy : NULL))
		exit(1);
	work();
	pthread_mutex_unlock(&busy);
	pthread_join(thread, NULL);
}

STAGE void run_rounds(void)
{
	gpu_kernel kernel = gpu_get_kernel("work_us100000");

	for (int i = 0; i < ROUNDS; i++) {
		gpu_launch(kernel, NULL);
		gpu_wait();
		usleep(10000);
	}
}

static void nap(void)
{
	usleep(100000);
}

static void start_children(const char *program)
{
	if (!fork()) {
		with_thread(false, nap);
		_exit(0);
	}
	if (!fork()) {
		execl(program, program, (char *)NULL);
		_exit(1);
	}
}

int main(int argc, char **argv)
{
	int status, failed = 0;

	if (!gpu_open("named_thread"))
		return 1;
	if (argc == 2)
		start_children(argv[0]);
	with_thread(true, run_rounds);
	while (wait(&status) > 0)
		failed += status != 0;
	return failed != 0;
}
