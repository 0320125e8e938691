// SPDX-License-Identifier: MIT
/*
 * SIGCHLD gets its default disposition: if we were started with SIGCHLD ignored, as by some
 * daemons, our children would vanish without a wait status.
 */
#include "record/signals.h"

#include <errno.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/error.h"

static void choose(sigset_t *handled)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGQUIT, SIGCHLD};
	struct sigaction hang_up;

	sigemptyset(handled);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		sigaddset(handled, numbers[i]);
	if (!sigaction(SIGHUP, NULL, &hang_up) && hang_up.sa_handler != SIG_IGN)
		sigaddset(handled, SIGHUP);
}

int signals_open(struct signals *s)
{
	struct sigaction plain = {.sa_handler = SIG_DFL}, ignored = {.sa_handler = SIG_IGN};
	sigset_t handled;
	int fd;

	choose(&handled);
	fd = signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		return error_errno(-errno, "cannot receive signals");
	if (sigprocmask(SIG_BLOCK, &handled, &s->original_mask) ||
		sigaction(SIGCHLD, &plain, &s->original_child) ||
		sigaction(SIGPIPE, &ignored, &s->original_pipe) ||
		sigaction(SIGXFSZ, &ignored, &s->original_size)) {
		int error = error_errno(-errno, "cannot block signals");

		close(fd);
		return error;
	}
	s->fd = fd;
	return 0;
}

void signals_restore(const struct signals *s)
{
	if (s->fd < 0)
		return;
	sigaction(SIGCHLD, &s->original_child, NULL);
	sigaction(SIGPIPE, &s->original_pipe, NULL);
	sigaction(SIGXFSZ, &s->original_size, NULL);
	sigprocmask(SIG_SETMASK, &s->original_mask, NULL);
}

void signals_close(struct signals *s)
{
	bool alone;

	if (s->fd < 0)
		return;
	while (signals_next(s, &alone))
		;
	signals_restore(s);
	close(s->fd);
	s->fd = -1;
}

int signals_next(const struct signals *s, bool *ret_alone)
{
	struct signalfd_siginfo info;

	if (read(s->fd, &info, sizeof(info)) != sizeof(info))
		return 0;
	*ret_alone = info.ssi_code <= 0;
	return (int)info.ssi_signo;
}
