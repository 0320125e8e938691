// SPDX-License-Identifier: MIT
#include "symbolize/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"

#define PIECE_BYTES	 65536
#define ASK_PERIOD_MS	 50
#define END_TRIES	 1000
#define END_PAUSE_US	 1000
#define MEMORY_MAX_BYTES ((rlim_t)4 << 30) /* private and written to */

/* Sanitizers reserve more than any limit of that kind. */
static void limit_memory(void)
{
#ifndef __SANITIZE_ADDRESS__
	struct rlimit limit = {MEMORY_MAX_BYTES, MEMORY_MAX_BYTES};

	(void)setrlimit(RLIMIT_DATA, &limit);
#endif
}

/* For one that cannot be ended: then it ends by itself. */
static void limit_time(uint64_t ns)
{
	rlim_t seconds = ns / NS_PER_SECOND + 1;
	struct rlimit limit = {seconds, seconds};

	(void)setrlimit(RLIMIT_CPU, &limit);
}

static void run_child(const struct worker *w, int out, pid_t parent)
{
	static const int ending[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGSEGV, SIGBUS,
		SIGABRT, SIGFPE, SIGILL};
	struct rlimit no_core = {0, 0};
	sigset_t none;

	for (size_t i = 0; i < sizeof(ending) / sizeof(ending[0]); i++)
		signal(ending[i], SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	(void)setrlimit(RLIMIT_CORE, &no_core);
	limit_memory();
	limit_time(w->limits.ns);
	/* A change of user forgets the signal. */
	if ((w->user && user_become_plain(w->user)) || prctl(PR_SET_PDEATHSIG, SIGKILL) ||
		getppid() != parent)
		_exit(1);
	_exit(w->run(w->context, out));
}

/* Hands over what is whole: 0 or -errno. */
static int handle_results(const struct worker *w, struct buf *b)
{
	long handled = w->handle(w->context, b->data, b->size);

	if (handled < 0)
		return (int)handled;
	if ((size_t)handled > b->size)
		return -EINVAL;
	memmove(b->data, b->data + handled, b->size - (size_t)handled);
	b->size -= (size_t)handled;
	return b->size > WORKER_RESULT_MAX ? -EIO : 0;
}

/* 1 while there may be more, 0 at the end, or -errno. */
static int read_some(const struct worker *w, int in, uint64_t deadline_ns, struct buf *b)
{
	struct pollfd p = {.fd = in, .events = POLLIN};
	ssize_t got;
	int error;

	if (w->limits.stopped && w->limits.stopped(w->limits.stop_context))
		return -EINTR;
	if (clock_now_ns() > deadline_ns)
		return -ETIME;
	if (poll(&p, 1, ASK_PERIOD_MS) <= 0)
		return 1;
	if (!buf_reserve(b, PIECE_BYTES))
		return -ENOMEM;
	got = read(in, b->data + b->size, PIECE_BYTES);
	if (got < 0)
		return errno == EINTR ? 1 : -errno;
	if (!got)
		return b->size ? -EIO : 0;
	b->size += (size_t)got;
	error = handle_results(w, b);
	return error ?: 1;
}

/* One without any more results may be stopped, by its user say, and never end. */
static bool has_ended(pid_t child, int *ret_status)
{
	for (int tries = 0; tries < END_TRIES; tries++) {
		if (waitpid(child, ret_status, WNOHANG))
			return true;
		usleep(END_PAUSE_US);
	}
	return false;
}

static int finish(pid_t child, int result)
{
	int status = 0;

	if (!result && has_ended(child, &status))
		return !WIFEXITED(status) || WEXITSTATUS(status) ? -EIO : 0;
	result = result ?: -ETIME;
	/* Root may lack the right, where the child has become another user. */
	if (kill(child, SIGKILL)) {
		(void)has_ended(child, &status);
		return result;
	}
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return result;
}

int worker_run(const struct worker *w)
{
	uint64_t deadline_ns = clock_now_ns() + w->limits.ns;
	struct buf b = BUF_INIT;
	pid_t parent = getpid(), child;
	int ends[2], result = 1;

	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	child = fork();
	if (!child)
		run_child(w, ends[1], parent);
	close(ends[1]);
	if (child < 0)
		result = -EAGAIN;
	while (result > 0)
		result = read_some(w, ends[0], deadline_ns, &b);
	close(ends[0]);
	buf_release(&b);
	return child < 0 ? result : finish(child, result);
}
