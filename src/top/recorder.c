// SPDX-License-Identifier: MIT
#include "top/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/io.h"
#include "record/session.h"
#include "record/signals.h"

#define PUBLISH_NS  NS_PER_SECOND
#define ROUND_MS    50
#define WAIT_MIN_NS NS_PER_MS /* shorter waits are counted without a stack */
#define PIPE_BYTES  (1 << 20)

/* Its process' side. */
struct child_ends {
	int profile, messages, control;
	bool live;
};

static void say(int messages, const char *text)
{
	(void)io_write_all(messages, text, strlen(text));
}

static int fail(int messages)
{
	say(messages, error_text());
	say(messages, "\n");
	return 1;
}

/* Whoever started us wants the end, or has gone: as a signal to us. */
static void heed(int *control)
{
	struct pollfd asked = {.fd = *control, .events = POLLIN};
	char byte;

	while (asked.fd >= 0 && poll(&asked, 1, 0) == 1) {
		if (read(*control, &byte, 1) <= 0)
			*control = asked.fd = -1;
		kill(getpid(), SIGTERM);
	}
}

static int run(struct session *s, const struct child_ends *ends)
{
	uint64_t due_ns = 0;
	enum session_end end;
	bool over = false;
	int control = ends->control, error = 0;

	while (!error && !over) {
		heed(&control);
		error = session_round(s, ROUND_MS, &over, &end);
		if (!error && ends->live && clock_now_ns() >= due_ns) {
			error = session_publish(s);
			due_ns = clock_now_ns() + PUBLISH_NS;
		}
	}
	return !error && ends->live ? session_publish(s) : error;
}

static int record(struct session *s, const struct child_ends *ends)
{
	int messages = ends->messages;
	int error;

	say(messages, buf_text(session_notes(s)));
	error = session_start(s);
	if (error && session_exec_failed(s)) {
		fail(messages);
		return error == -ENOENT ? RECORDER_NOT_FOUND : RECORDER_NOT_EXECUTABLE;
	}
	if (error)
		return session_interrupted(s) ? 0 : fail(messages);
	error = run(s, ends);
	/* Whoever drew has gone: then there is nobody to tell. */
	if (error)
		fail(messages);
	return session_finish(s) && !error ? fail(messages) : error != 0;
}

static int record_into(const struct recorder_options *o, const struct child_ends *ends)
{
	char path[32];
	struct signals signals = SIGNALS_INIT;
	const struct session_options options = {
		.profile_path = path,
		.sandbox = "/proc/self/exe",
		.signals = &signals,
		.user = o->user,
		.command = o->command,
		.pid = o->pid,
		.whole_system = !o->command && !o->pid,
		.cpu = true,
		.gpu = !o->cpu_only,
		.overhead = o->overhead,
		.waits = o->waits,
		.wait_min_ns = WAIT_MIN_NS,
		.live = o->live,
		.sample_hz = o->hz,
		.duration_ns = o->duration_ns,
	};
	struct session *s;
	int status;

	snprintf(path, sizeof(path), "/dev/fd/%d", ends->profile);
	if (signals_open(&signals) || session_open(&s, &options))
		return fail(ends->messages);
	status = record(s, ends);
	session_close(s);
	signals_close(&signals);
	return status;
}

/* A command shares our standard files. */
static int leave_terminal(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), error = null < 0;

	for (int fd = STDIN_FILENO; !error && fd <= STDERR_FILENO; fd++)
		if (fd != STDERR_FILENO || isatty(fd))
			error = dup2(null, fd) < 0;
	return error ? error_errno(-errno, "cannot open '/dev/null'") : 0;
}

static void __attribute__((noreturn))
be_recorder(const struct recorder_options *o, const struct child_ends *ends)
{
	_exit(leave_terminal() ? fail(ends->messages) : record_into(o, ends));
}

/* Both ends of both stay closed in programs. */
static int open_pipes(int profile[2], int messages[2], int control[2])
{
	if (pipe2(profile, O_CLOEXEC) || pipe2(messages, O_CLOEXEC) || pipe2(control, O_CLOEXEC))
		return error_errno(-errno, "cannot make a pipe");
	(void)fcntl(profile[0], F_SETPIPE_SZ, PIPE_BYTES);
	return 0;
}

int recorder_start(struct recorder *r, const struct recorder_options *o)
{
	int profile[2] = {-1, -1}, messages[2] = {-1, -1}, control[2] = {-1, -1};
	int error = open_pipes(profile, messages, control);

	*r = (struct recorder){-1, profile[0], messages[0], control[1]};
	if (!error)
		r->pid = fork();
	if (!r->pid) {
		close(profile[0]);
		close(messages[0]);
		close(control[1]);
		be_recorder(o, &(struct child_ends){profile[1], messages[1], control[0], o->live});
	}
	if (!error && r->pid < 0)
		error = error_errno(-errno, "cannot start a process");
	close(profile[1]);
	close(messages[1]);
	close(control[0]);
	if (error)
		recorder_end(r);
	return error;
}

void recorder_stop(const struct recorder *r)
{
	(void)io_write_all(r->control, "", 1);
}

static void close_if_open(int fd)
{
	if (fd >= 0)
		close(fd);
}

int recorder_end(struct recorder *r)
{
	int status = 0;

	close_if_open(r->profile);
	close_if_open(r->messages);
	close_if_open(r->control);
	while (r->pid > 0 && waitpid(r->pid, &status, 0) < 0 && errno == EINTR)
		;
	*r = RECORDER_NONE;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
