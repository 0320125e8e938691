// SPDX-License-Identifier: MIT
/*
 * Records several programs at the same time in this one process and thread, each into a file of its
 * own, as an agent would: with session_round for each recording, no signals, nothing printed.
 *
 * usage: record_several FILE SHELL-COMMAND [FILE SHELL-COMMAND ...]
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "record/session.h"

#define SESSIONS_MAX 8

struct one {
	struct session *session;
	struct target_user user;
	char *command[4];
	bool over;
};

static int fail(const char *what)
{
	fprintf(stderr, "record_several: %s: %s\n", what, error_text());
	return 1;
}

static int open_one(struct one *o, char *file, char *command)
{
	struct session_options options = {.profile_path = file,
		.user = &o->user,
		.command = o->command,
		.cpu = true,
		.gpu = true,
		.sample_hz = 99};
	int error = target_user_find(&o->user, false);

	o->command[0] = "sh";
	o->command[1] = "-c";
	o->command[2] = command;
	return error ?: session_open(&o->session, &options);
}

/* Until all are over. */
static int go_on(struct one *all, int count)
{
	struct pollfd fds[SESSIONS_MAX];
	enum session_end end;
	int left = count, error = 0;

	for (int n = 0; n < count; n++)
		fds[n] = (struct pollfd){.fd = session_poll_fd(all[n].session), .events = POLLIN};
	while (!error && left) {
		poll(fds, (nfds_t)count, 50);
		for (int n = 0; !error && n < count; n++) {
			if (all[n].over)
				continue;
			error = session_round(all[n].session, 0, &all[n].over, &end);
			left -= all[n].over;
			fds[n].fd = all[n].over ? -1 : fds[n].fd;
		}
	}
	return error;
}

int main(int argc, char **argv)
{
	struct one all[SESSIONS_MAX] = {0};
	int count = (argc - 1) / 2, error = 0;

	if (count < 1 || count > SESSIONS_MAX || argc % 2 == 0)
		return 2;
	for (int n = 0; n < count; n++)
		if (open_one(&all[n], argv[1 + 2 * n], argv[2 + 2 * n]))
			return fail("cannot open");
	/* Opening takes a while, and one that was started has to be drained. */
	for (int n = 0; n < count; n++)
		if (session_start(all[n].session))
			return fail("cannot start");
	if (go_on(all, count))
		return fail("cannot record");
	for (int n = 0; n < count; n++) {
		if (session_finish(all[n].session))
			error = fail("cannot finish");
		fputs(buf_text(session_notes(all[n].session)), stderr);
		session_close(all[n].session);
		target_user_release(&all[n].user);
	}
	return error;
}
