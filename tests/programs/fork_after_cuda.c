// SPDX-License-Identifier: MIT
/*
 * As a PyTorch DataLoader does: a process that uses CUDA forks workers that do not, and goes on.
 * Half the workers leave by exit(), which runs what was registered with atexit, half by _exit().
 *
 *	fork_after_cuda [--workers N]
 *
 * Prints what it did (expect.h), and fails when a worker does not leave with status 7.
 */
#include "gpu.h"
#include "expect.h"

#include <sys/wait.h>
#include <unistd.h>

enum { LAUNCHES = 40, WORKERS = 4, WORKER_STATUS = 7 };

STAGE void launch_in_parent(gpu_kernel kernel)
{
	for (int i = 0; i < LAUNCHES; i++)
		gpu_launch(kernel, NULL);
	gpu_wait();
	expect((struct expected){"kernel", __func__, "count_a_us5", NULL, LAUNCHES, LAUNCHES, 0});
}

STAGE void work_in_child(void)
{
	for (volatile unsigned long i = 0; i < 20000000; i++)
		;
}

static pid_t start_worker(int i)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	work_in_child();
	if (i % 2)
		exit(WORKER_STATUS);
	_exit(WORKER_STATUS);
}

int main(int argc, char **argv)
{
	int workers = argc == 3 ? atoi(argv[2]) : WORKERS, status, failed = 0;
	gpu_kernel kernel;

	if (!gpu_open("fork_after_cuda"))
		return 1;
	kernel = gpu_get_kernel("count_a_us5");
	launch_in_parent(kernel);
	for (int i = 0; i < workers; i++)
		if (start_worker(i) < 0)
			return 1;
	launch_in_parent(kernel);
	while (wait(&status) > 0)
		failed += !WIFEXITED(status) || WEXITSTATUS(status) != WORKER_STATUS;
	launch_in_parent(kernel);
	printf("{\"type\": \"program\", \"form\": \"%s\", \"device\": \"%s\", \"workers\": %d}\n",
		gpu_form, gpu.name, workers);
	expect_print();
	return failed != 0;
}
