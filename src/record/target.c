// SPDX-License-Identifier: MIT
/*
 * The gate is a socket: the child blocks in read() until a byte comes. A failed exec comes back
 * through a second, close-on-exec pipe, which a successful one closes.
 */
#include "record/target.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/io.h"

/* As shells call it. */
#define EXIT_NOT_EXECUTABLE 126
#define EXIT_NOT_FOUND	    127

/* The child's side: waits at the gate, becomes the user, runs the program. It makes system calls
 * only: other threads of the recorder may hold locks at the fork, and nobody would release them
 * here. */
static void run(const struct target_user *u, const struct signals *signals, char **argv, int gate,
	int failed)
{
	char byte;
	int error;

	if (io_read_full(gate, &byte, 1) != 1)
		_exit(EXIT_NOT_EXECUTABLE);
	error = -user_become(&u->account);
	if (!error) {
		if (signals)
			signals_restore(signals);
		environ = u->environment;
		execvp(argv[0], argv);
		error = errno;
	}
	if (io_write_all(failed, &error, sizeof(error)))
		_exit(EXIT_FAILURE);
	_exit(error == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE);
}

static int open_pidfd(pid_t pid)
{
	return (int)syscall(SYS_pidfd_open, pid, 0);
}

int target_spawn(
	struct target *t, const struct target_user *u, const struct signals *signals, char **argv)
{
	int gate[2] = {-1, -1}, failed[2] = {-1, -1}, error;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, gate) || pipe2(failed, O_CLOEXEC))
		goto fail;
	t->pid = fork();
	if (t->pid < 0)
		goto fail;
	if (!t->pid) {
		close(gate[1]);
		close(failed[0]);
		run(u, signals, argv, gate[0], failed[1]);
	}
	close(gate[0]);
	close(failed[1]);
	t->gate = gate[1];
	t->failed = failed[0];
	t->pidfd = open_pidfd(t->pid);
	if (t->pidfd >= 0)
		return 0;
	error = error_errno(-errno, "cannot watch the program");
	target_close(t);
	return error;
fail:
	error = error_errno(-errno, "cannot start '%s'", argv[0]);
	for (int i = 0; i < 2; i++) {
		if (gate[i] >= 0)
			close(gate[i]);
		if (failed[i] >= 0)
			close(failed[i]);
	}
	return error;
}

static int cannot_run(const char *command, int error)
{
	return error_errno(error, "cannot run '%s'", command);
}

int target_check_command(const struct target_user *u, const char *command)
{
	const char *path = target_user_getenv(u, "PATH");
	char *copy, *rest, *folder;
	int error = -ENOENT;

	if (strchr(command, '/'))
		return access(command, X_OK) ? cannot_run(command, -errno) : 0;
	copy = rest = strdup(path ? path : "/usr/local/bin:/usr/bin:/bin");
	if (!copy)
		return error_memory(NULL);
	while (error && (folder = strsep(&rest, ":"))) {
		struct buf full = BUF_INIT;

		buf_printf(&full, "%s/%s", *folder ? folder : ".", command);
		if (!full.failed && !access(full.data, X_OK))
			error = 0;
		else if (errno == EACCES && !access(full.data, F_OK))
			error = -EACCES; /* not where the folder may not be searched */
		buf_release(&full);
	}
	free(copy);
	return error ? cannot_run(command, error) : 0;
}

int target_release(struct target *t, const char *command)
{
	int error = 0;
	ssize_t n;

	/* A child that was killed at the gate is seen when it is reaped. */
	if (send(t->gate, "", 1, MSG_NOSIGNAL) != 1 && errno != EPIPE)
		return error_errno(-errno, "cannot start '%s'", command);
	close(t->gate);
	t->gate = -1;
	n = io_read_full(t->failed, &error, sizeof(error));
	close(t->failed);
	t->failed = -1;
	return n == sizeof(error) && error > 0 ? cannot_run(command, -error) : 0;
}

bool target_reap(struct target *t, int *ret_status)
{
	int status;

	if (t->pid < 0 || waitpid(t->pid, &status, WNOHANG) != t->pid)
		return false;
	t->pid = -1;
	*ret_status = status;
	return true;
}

void target_close(struct target *t)
{
	if (t->pid > 0 && t->gate >= 0) {
		kill(t->pid, SIGKILL);
		waitpid(t->pid, NULL, 0);
	}
	if (t->gate >= 0)
		close(t->gate);
	if (t->failed >= 0)
		close(t->failed);
	if (t->pidfd >= 0)
		close(t->pidfd);
	*t = TARGET_INIT;
}

int target_shell_status(int wait_status)
{
	return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}
