// SPDX-License-Identifier: MIT
/* One session from its start to its outputs, and what is printed meanwhile and at its end. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "cmd/cmd.h"
#include "cmd/record/record.h"
#include "profile/runtimes.h"

#define VARIABLES_SHOWN_MAX 8 /* of those that sudo had changed */

/* The first of "LD_LIBRARY_PATH, PATH": sudo removes dozens where little is set up to be kept. */
static void print_user(const struct target_user *u)
{
	const char *end = u->changed_by_sudo;
	size_t shown = 0, more = 0;

	for (; *end && (*end != ',' || ++shown < VARIABLES_SHOWN_MAX); end++)
		;
	for (const char *c = end; *c; c++)
		more += *c == ',';
	if (more)
		cmd_error("the program runs as %s, with what sudo had changed put back: %.*s and "
			  "%zu more",
			u->account.name, (int)(end - u->changed_by_sudo), u->changed_by_sudo, more);
	else
		cmd_error("the program runs as %s, with what sudo had changed put back: %s",
			u->account.name, u->changed_by_sudo);
}

static void print_lines(const struct buf *lines)
{
	char *text = strdup(buf_text(lines)), *rest = text, *line;

	while (text && (line = strsep(&rest, "\n")))
		if (*line)
			cmd_error("%s", line);
	free(text);
}

static void print_notes(const struct target_user *u, const struct session *s)
{
	if (u->changed_by_sudo)
		print_user(u);
	print_lines(session_notes(s));
}

static void print_summary(const struct record *r, const struct session *s, bool whole)
{
	status_summary(session_totals(s), session_elapsed_ns(s),
		r->temporary.size || !whole ? NULL : r->profile_path);
	if (session_left_behind(s))
		cmd_error("left process %s", session_left_behind(s));
	if (session_stripped(s))
		cmd_error("'%s' has no symbols: its debug package, or DEBUGINFOD_URLS, would name "
			  "its "
			  "functions ('xpuprof report' says more)",
			session_stripped(s));
	if (session_nameless_jit(s))
		cmd_error("code that %s made while it ran has no names: %s",
			session_nameless_jit(s)->name, session_nameless_jit(s)->hint);
	vec_foreach (output, &r->outputs)
		if (output->exporter && output->made && strcmp(output->path, "-"))
			cmd_error("wrote %s", output->path);
}

/* The shell's statuses for commands that cannot be run. */
static int exec_status(int error)
{
	cmd_failed();
	return error == -ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
}

/* Ends the recording and makes the outputs; the status is ours, not the program's. What `failed`
 * while it ran (a full disk) fails here again and was reported. */
static int finish(struct record *r, const struct target_user *u, struct session *s, int failed)
{
	int error = session_finish(s), status = failed;

	if (error && !failed)
		status = cmd_failed();
	print_lines(session_refusals(s));
	if ((error || failed) && !r->temporary.size)
		record_print_rest(r);
	if (!error || !r->temporary.size)
		status = record_make_outputs(r, u, s) ?: status;
	if (!r->quiet)
		print_summary(r, s, !error && !failed);
	return status;
}

static int start(struct session *s)
{
	int error = session_start(s);

	if (!error)
		return EXIT_OK;
	if (session_interrupted(s))
		return 128 + session_interrupted(s);
	return session_exec_failed(s) ? exec_status(error) : cmd_failed();
}

/* How a recording went. */
struct outcome {
	int status;	 /* ours */
	int wait_status; /* how we are to end instead; 0: by our status */
};

/* Ends as the program ended, unless it succeeded and we did not. */
static struct outcome outcome_of(struct session *s, int status)
{
	struct outcome o = {.status = status};
	int wait_status;

	if (session_program(s, &wait_status) && (wait_status || !status))
		o = (struct outcome){
			.status = target_shell_status(wait_status), .wait_status = wait_status};
	return o;
}

/* From its start to its outputs. */
static struct outcome record(struct record *r, struct target_user *u, struct session *s)
{
	enum session_end end;
	int status, failed;

	print_notes(u, s);
	status = start(s);
	if (status)
		return (struct outcome){status, session_interrupted(s)};
	failed = session_wait(s, &end);
	if (!r->quiet)
		status_program_ended(&r->status);
	failed = failed ? cmd_failed() : EXIT_OK;
	status = finish(r, u, s, failed);
	if (r->temporary.size)
		(void)place_remove(&r->profile);
	return outcome_of(s, status);
}

/* The folder where the recording will open it. Before that, while a fork still costs little. */
static int find_profile(struct record *r, const struct target_user *u)
{
	if (place_descriptor(r->profile_path) >= 0)
		return 0;
	return place_find(&r->profile, &u->account, r->profile_path, "create");
}

static struct outcome open_and_record(
	struct record *r, struct target_user *u, const struct signals *signals, char **command)
{
	r->programs.plan.snapshot_ns = (uint64_t)(r->probe_seconds * 1e9) + (r->probe_seconds > 0);
	const struct session_options options = {
		.profile_path = r->profile_path,
		.sandbox = "/proc/self/exe",
		.signals = signals,
		.progress = !r->quiet && isatty(STDERR_FILENO) ? status_report : NULL,
		.progress_context = &r->status,
		.user = u,
		.command = *command ? command : NULL,
		.pid = (pid_t)r->pid,
		.whole_system = r->whole_system,
		.cpu = !r->gpu_only,
		.gpu = !r->cpu_only,
		.overhead = record_overhead(r),
		.times_one_in = (uint32_t)r->times_one_in,
		.observes = r->observes,
		.stacks = r->stacks,
		.stalls = r->stalls,
		.stall_period = r->stall_period,
		.probes = r->programs.objects.count ? &r->programs : NULL,
		.drivers = r->drivers,
		.counter_interval_ns = r->counter_interval_ns,
		.waits = r->off_cpu,
		.wait_min_ns = r->wait_min_ns,
		.finalize = r->finalize,
		.queue_times = r->queue_times,
		.markers = r->markers,
		.metrics = r->metrics,
		.inlines = r->inlines,
		.sample_hz = (unsigned int)r->hz,
		.duration_ns = (uint64_t)(r->seconds * 1e9) + (r->seconds > 0), /* 0: none */
		.wait_ns = (uint64_t)(r->wait_seconds * 1e9),
	};
	struct outcome o = {.status = EXIT_FAILED};
	struct session *s;

	status_begin(&r->status, *command != NULL, (pid_t)r->pid, r->wants_status);
	if (find_profile(r, u) || session_open(&s, &options)) {
		cmd_failed();
	} else {
		o = record(r, u, s);
		session_close(s);
	}
	place_release(&r->profile);
	return o;
}

static int run(struct record *r, struct target_user *u, char **command)
{
	struct signals signals = SIGNALS_INIT;
	struct outcome o;

	if (signals_open(&signals))
		return cmd_failed();
	o = open_and_record(r, u, &signals, command);
	signals_close(&signals);
	record_release_outputs(r);
	if (r->ret_wait_status)
		*r->ret_wait_status = o.wait_status;
	else if (o.wait_status)
		cmd_end_like(o.wait_status);
	return o.status;
}

int record_prepare_and_run(struct record *r, char **command)
{
	struct target_user user;
	int status, error;

	if (record_choose_profile(r) || target_user_find(&user, r->as_root))
		return cmd_failed();
	if (record_claim_outputs(r, &user)) {
		status = cmd_failed();
	} else {
		error = *command ? target_check_command(&user, *command) : 0;
		status = error ? exec_status(error) : run(r, &user, command);
	}
	record_release_outputs(r);
	target_user_release(&user);
	return status;
}
