// SPDX-License-Identifier: MIT
/*
 * The joiner is a grandchild: nobody has to wait for its end, and it outlives the recorder. It
 * keeps none of the recorder's descriptors, and no signal to the recorder's group reaches it.
 */
#include "join/join.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "join/joiner.h"

#define LIFE_SECONDS 60 /* of a joiner; each of its steps is bounded, too */
#define FIRST_FD     3

struct join {
	int channel;
};

/* The channel and the library, and nothing else. */
static void keep_two(int *channel, int *library)
{
	int high[2] = {fcntl(*channel, F_DUPFD, 64), fcntl(*library, F_DUPFD, 64)};

	if (high[0] < 0 || high[1] < 0 || dup2(high[0], FIRST_FD) < 0 ||
		dup2(high[1], FIRST_FD + 1) < 0)
		_exit(1);
	*channel = FIRST_FD;
	*library = FIRST_FD + 1;
	if (syscall(SYS_close_range, FIRST_FD + 2, ~0u, 0) && errno == ENOSYS)
		for (int fd = FIRST_FD + 2; fd < sysconf(_SC_OPEN_MAX); fd++)
			close(fd);
}

static void become_joiner(int channel, const struct join_options *given)
{
	struct join_options options = *given;
	sigset_t only;

	keep_two(&channel, &options.library);
	sigfillset(&only);
	sigdelset(&only, SIGALRM);
	signal(SIGALRM, SIG_DFL);
	sigprocmask(SIG_SETMASK, &only, NULL);
	setsid();
	prctl(PR_SET_NAME, "xpuprof-join");
	alarm(LIFE_SECONDS);
	joiner_run(channel, &options);
	_exit(0);
}

/* 0 or -errno. */
static int start(int channel, const struct join_options *options)
{
	pid_t child = fork();
	int status;

	if (child < 0)
		return -errno;
	if (!child) {
		if (!fork())
			become_joiner(channel, options);
		_exit(0);
	}
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return 0;
}

int join_begin(struct join **ret, const struct join_options *options)
{
	struct join *j = malloc(sizeof(*j));
	int channels[2], error;

	if (options->pid == (uint32_t)getpid()) {
		free(j);
		return error_set(-EINVAL, "it is the recorder itself");
	}
	if (!j)
		return error_memory("joining a process");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channels)) {
		error = -errno;
		free(j);
		return error_errno(error, "cannot make a socket");
	}
	error = start(channels[1], options);
	close(channels[1]);
	j->channel = channels[0];
	if (error) {
		close(channels[0]);
		free(j);
		return error_errno(error, "cannot start a process");
	}
	*ret = j;
	return 0;
}

int join_fd(const struct join *j)
{
	return j->channel;
}

/* The descriptor in a message, or -1. */
static int descriptor_in(struct msghdr *m)
{
	struct cmsghdr *first = CMSG_FIRSTHDR(m);
	int fd = -1;

	if (first && first->cmsg_type == SCM_RIGHTS && first->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(&fd, CMSG_DATA(first), sizeof(int));
	return fd;
}

static int receive_result(int channel, struct join_result *ret)
{
	struct joiner_result result = {0};
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec part = {&result, sizeof(result)};
	struct msghdr m = {.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control)};
	ssize_t n;

	do
		n = recvmsg(channel, &m, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n != sizeof(result))
		return error_set(-EPIPE, "the process that joins it has ended");
	result.text[sizeof(result.text) - 1] = '\0';
	if (result.error)
		return error_set(result.error, "%s", result.text);
	ret->socket = descriptor_in(&m);
	ret->woken = result.woken;
	ret->copy = result.copy;
	return ret->socket < 0 ? error_set(-EMFILE, "no descriptor is left") : 0;
}

int join_end(struct join *j, struct join_result *ret)
{
	int error = receive_result(j->channel, ret);

	close(j->channel);
	free(j);
	return error;
}
