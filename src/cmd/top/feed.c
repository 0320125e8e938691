// SPDX-License-Identifier: MIT
#include "cmd/top/feed.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"

#define EXTRA_MAX      2
#define MESSAGES_BYTES 65536 /* more is left out */
#define READ_BYTES     262144

int feed_open(struct feed *f, const struct recorder_options *o)
{
	int error;

	*f = (struct feed){.recorder = RECORDER_NONE};
	error = recent_new(&f->recent);
	error = error ?: recorder_start(&f->recorder, o);
	return error ?: user_become_caller(&f->user);
}

/* *fd is closed and -1 at the end. */
static int take(struct feed *f, int *fd)
{
	static char bytes[READ_BYTES];
	ssize_t n = read(*fd, bytes, sizeof(bytes));

	if (n < 0)
		return errno == EINTR || errno == EAGAIN
			       ? 0
			       : error_errno(-errno, "cannot read what is recorded");
	if (!n) {
		close(*fd);
		*fd = -1;
	} else if (fd == &f->recorder.profile) {
		return recent_add(f->recent, bytes, (size_t)n, clock_now_ns());
	} else if (f->messages.size < MESSAGES_BYTES) {
		buf_append(&f->messages, bytes, (size_t)n);
		buf_putc(&f->messages, '\0');
		f->messages.size--;
	}
	return 0;
}

int feed_wait(struct feed *f, const int *extra, unsigned int others, int wait_ms)
{
	struct pollfd p[2 + EXTRA_MAX] = {{.fd = f->recorder.profile, .events = POLLIN},
		{.fd = f->recorder.messages, .events = POLLIN}};
	int error = 0;

	for (unsigned int i = 0; i < others && i < EXTRA_MAX; i++)
		p[2 + i] = (struct pollfd){.fd = extra[i], .events = POLLIN};
	if (poll(p, 2 + (others < EXTRA_MAX ? others : EXTRA_MAX), wait_ms) < 0)
		return errno == EINTR ? 0 : error_errno(-errno, "cannot wait for events");
	if (p[0].revents)
		error = take(f, &f->recorder.profile);
	if (p[1].revents && !error)
		error = take(f, &f->recorder.messages);
	f->ended = f->recorder.profile < 0 && f->recorder.messages < 0;
	return error;
}

int feed_close(struct feed *f)
{
	while (!f->ended && !feed_wait(f, NULL, 0, -1))
		;
	return recorder_end(&f->recorder);
}

void feed_release(struct feed *f)
{
	(void)recorder_end(&f->recorder);
	recent_free(f->recent);
	buf_release(&f->messages);
	user_release(&f->user);
}
