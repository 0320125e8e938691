// SPDX-License-Identifier: MIT
/*
 * Runs the command, with the library that puts programs into its kernels preloaded.
 *
 * The command is the user's: what it does, and how it ends, does not depend on us. Its library
 * takes a moment where a context of a GPU begins or ends, and nothing else waits.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "cmd/cmd.h"
#include "cmd/probe/probe.h"
#include "probe/kernel_programs.h"
#include "probe/sanitizer.h"
#include "record/preload.h"
#include "record/runtime_dir.h"
#include "record/target.h"

#define NS_PER_S      1000000000ull
#define ROUND_BUSY_MS 1
#define ROUND_IDLE_MS 10
/* How old the values of a program are at most that ends without a word. */
#define READ_NS	   NS_PER_S
#define ANSWERS_NS (2 * NS_PER_S)

struct run {
	struct probe_request *request;
	struct target_user user;
	struct signals signals;
	struct runtime_dir folder;
	struct plan plan;
	struct kernel_programs *kernel; /* NULL: none */
	struct server server;
	struct target target;
	struct probe_output output;
	struct sanitizer_paths sanitizer;
	bool has_server;
	uint64_t start_ns, asked_ns, print_ns; /* of -i: when the next is due */
	bool prints;			       /* tables are printed once all have answered */
	bool stopped;			       /* programs have been switched off */
	bool told;			       /* to stop, by a signal to us alone */
	bool ended;			       /* the command has */
	int wait_status;
};

static int open_server(struct run *r)
{
	int error = runtime_dir_open(&r->folder, r->user.account.switched);
	struct server_options options = {.folder_fd = r->folder.fd,
		.folder = r->folder.path,
		.uid = r->user.account.switched ? r->user.account.uid : geteuid(),
		.gid = r->user.account.switched ? r->user.account.gid : getegid()};

	if (error)
		return error_errno(error, "cannot make a folder for the time it runs");
	error = server_open(&r->server, &r->plan, &options);
	if (error)
		return error;
	r->has_server = true;
	r->server.on_record = output_record;
	r->server.context = &r->output;
	r->output.server = &r->server;
	return preload_for_probes(&r->user, server_address(&r->server), r->plan.hash);
}

static void wait_for_something(const struct run *r, bool busy)
{
	struct pollfd p[] = {{.fd = r->signals.fd, .events = POLLIN},
		{.fd = r->server.epoll, .events = POLLIN},
		{.fd = r->target.pidfd, .events = POLLIN}};

	(void)poll(p, r->ended ? 2 : 3, busy ? ROUND_BUSY_MS : ROUND_IDLE_MS);
}

/* One that was sent to us alone ends the probing, not the command. Others are the command's,
 * too. */
static void handle_signals(struct run *r)
{
	bool alone;
	int number;

	while ((number = signals_next(&r->signals, &alone)))
		r->told |= alone && number != SIGCHLD;
}

static void ask_in_time(struct run *r, uint64_t now)
{
	bool due = r->request->interval > 0 && now >= r->print_ns;

	if (!due && now - r->asked_ns < READ_NS)
		return;
	if (due) {
		r->prints = true;
		r->print_ns += (uint64_t)(r->request->interval * 1e9);
		if (r->print_ns < now)
			r->print_ns = now;
	}
	server_ask(&r->server);
	r->asked_ns = now;
}

static int print_in_time(struct run *r, uint64_t now)
{
	int error = output_lines(&r->output);

	if (error || !r->prints ||
		(!server_has_answers(&r->server) && now - r->asked_ns < ANSWERS_NS))
		return error;
	r->prints = false;
	return output_tables(&r->output, false);
}

static bool is_over(const struct run *r, uint64_t now)
{
	if (r->ended || r->told)
		return true;
	return r->request->seconds > 0 && (double)(now - r->start_ns) >= r->request->seconds * 1e9;
}

static int follow(struct run *r)
{
	int error = 0;

	for (;;) {
		uint64_t now = clock_now_ns();
		bool busy = server_drain(&r->server);

		handle_signals(r);
		r->ended |= target_reap(&r->target, &r->wait_status);
		if (error || is_over(r, now))
			return error;
		ask_in_time(r, now);
		error = print_in_time(r, now);
		wait_for_something(r, busy);
	}
}

/* The last values of all that still run; then programs are switched off. */
static void stop(struct run *r)
{
	uint64_t until;

	server_ask(&r->server);
	until = clock_now_ns() + ANSWERS_NS;
	do {
		bool busy = server_drain(&r->server);

		if (server_has_answers(&r->server))
			break;
		wait_for_something(r, busy);
	} while (clock_now_ns() < until);
	server_switch(&r->server, true);
	while (server_drain(&r->server) && clock_now_ns() < until)
		;
}

static int print(struct run *r)
{
	struct buf losses = BUF_INIT;
	int error = output_lines(&r->output);

	error = error
			?: r->request->json ? output_json(&r->output)
					    : output_tables(&r->output, true);
	output_losses(&losses, &r->output);
	(void)cmd_print(STDERR_FILENO, &losses);
	buf_release(&losses);
	return error;
}

/* The command goes on without us, unless we were told to stop. */
static void wait_for_command(struct run *r)
{
	while (!r->ended && !r->told) {
		struct pollfd p[] = {{.fd = r->signals.fd, .events = POLLIN},
			{.fd = r->target.pidfd, .events = POLLIN}};

		(void)poll(p, 2, 1000);
		handle_signals(r);
		(void)server_drain(&r->server);
		r->ended |= target_reap(&r->target, &r->wait_status);
	}
}

static int exec_status(int error)
{
	cmd_failed();
	return error == -ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
}

static int run_command(struct run *r, char **command)
{
	int error = target_spawn(&r->target, &r->user, &r->signals, command), status;

	if (error)
		return cmd_failed();
	error = target_release(&r->target, command[0]);
	if (error)
		return exec_status(error);
	r->start_ns = r->asked_ns = clock_now_ns();
	r->print_ns = r->start_ns + (uint64_t)(r->request->interval * 1e9);
	error = follow(r);
	stop(r);
	error = error ?: print(r);
	status = error ? cmd_failed() : EXIT_OK;
	wait_for_command(r);
	return status;
}

static void warn(const struct plan *plan, bool sanitizer)
{
	struct buf lines = BUF_INIT, out = BUF_INIT;

	plan_warn(plan, &lines);
	if (sanitizer)
		plan_warn_patches(plan, &lines);
	for (const char *at = buf_text(&lines); *at;) {
		size_t length = strcspn(at, "\n");

		buf_printf(&out, "xpuprof: %.*s\n", (int)length, at);
		at += length + 1;
	}
	(void)cmd_print(STDERR_FILENO, &out);
	buf_release(&lines);
	buf_release(&out);
}

static const char *user_getenv(void *user, const char *name)
{
	return target_user_getenv(user, name);
}

/* The library in the command loads the vendor's. */
static int set_sanitizer(struct run *r)
{
	int error = sanitizer_find(user_getenv, &r->user, &r->sanitizer);

	r->request->programs.assembler = buf_text(&r->sanitizer.assembler);
	return error
		       ?: target_user_setenv(
				  &r->user, PROBE_ENV_SANITIZER, buf_text(&r->sanitizer.library));
}

static int prepare_and_run(struct run *r, char **command)
{
	int error = target_check_command(&r->user, command[0]), status;

	if (error)
		return exec_status(error);
	if (r->request->sanitizer && set_sanitizer(r))
		return cmd_failed();
	if (programs_plan(&r->request->programs, &r->user.account, &r->plan) ||
		kernel_programs_open(
			&r->kernel, &r->plan, &r->request->programs, &r->user.account) ||
		signals_open(&r->signals))
		return cmd_failed();
	warn(&r->plan, r->request->sanitizer);
	status = open_server(r) ? cmd_failed() : run_command(r, command);
	target_close(&r->target);
	if (r->has_server)
		server_close(&r->server);
	runtime_dir_close(&r->folder);
	signals_close(&r->signals);
	return status;
}

int probe_run(struct probe_request *request, char **command)
{
	struct run r = {.request = request,
		.signals = SIGNALS_INIT,
		.folder = RUNTIME_DIR_INIT,
		.target = TARGET_INIT,
		.output = {.request = request},
		.sanitizer = SANITIZER_PATHS_INIT};
	int status;

	plan_init(&r.plan);
	if (target_user_find(&r.user, request->as_root))
		return cmd_failed();
	status = prepare_and_run(&r, command);
	output_release(&r.output);
	sanitizer_paths_release(&r.sanitizer);
	kernel_programs_close(r.kernel);
	plan_release(&r.plan);
	target_user_release(&r.user);
	if (r.ended && (r.wait_status || !status))
		cmd_end_like(r.wait_status);
	return status;
}
