// SPDX-License-Identifier: MIT
/*
 * Starts a program twice, once as a child and once as a grandchild, and waits for both: as
 * launchers of distributed jobs do. Leaves with the first status that is not 0.
 *
 *	fork_wrapper PROGRAM [ARGUMENTS...]
 */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static int wait_for_all(void)
{
	int status, result = 0;

	while (wait(&status) > 0)
		if (!result)
			result = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	return result;
}

static pid_t start(char **argv)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	execvp(argv[0], argv);
	perror(argv[0]);
	_exit(127);
}

/* The child lives on, so that the program is a grandchild of ours. */
static pid_t start_grandchild(char **argv)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	_exit(start(argv) < 0 ? 126 : wait_for_all());
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		fprintf(stderr, "usage: fork_wrapper PROGRAM [ARGUMENTS...]\n");
		return 2;
	}
	if (start(argv + 1) < 0 || start_grandchild(argv + 1) < 0) {
		perror("fork_wrapper");
		return 126;
	}
	return wait_for_all();
}
