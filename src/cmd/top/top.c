// SPDX-License-Identifier: MIT
/* `xpuprof top`: what runs now on CPUs and GPUs, and why GPUs do not. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "base/error.h"
#include "cmd/cmd.h"
#include "cmd/options.h"
#include "cmd/top/terminal.h"
#include "cmd/top/watch.h"
#include "record/target.h"

#define DUMP_NS 300000000ull /* how long threads are looked at */

static const struct option_usage usage = {
	.command = "top",
	.synopsis = "[options] [COMMAND...]",
	.summary = "Shows live what runs on CPUs and GPUs, on which stacks, and why GPUs are idle.",
	.examples = "  sudo xpuprof top                 the whole system\n"
		    "  xpuprof top -- python3 train.py  what a program does\n"
		    "  xpuprof top -p 4711              where the threads of a process are now\n"
		    "  xpuprof top -p 4711 --live       what it does, live\n"
		    "  xpuprof top --once               one screen, as text\n",
	.operands = "COMMAND",
	.stop_at_operand = true,
};

struct top {
	unsigned long pid, hz, rows;
	double delay, window;
	bool live, once, cpu_only, as_root;
	long overhead; /* percent; 0: all GPU work is recorded */
	enum screen_sort sort;
};

static int parse_sort(void *target, const char *value)
{
	return screen_sort_parse(value, target) ? -1 : 0;
}

static int parse_overhead(void *target, const char *value)
{
	char *end;
	long percent = strtol(value, &end, 10);

	if (end == value || *end || percent < 1 || percent > 100) {
		error_set(-1, "takes a percentage from 1 to 100");
		return -1;
	}
	*(long *)target = percent;
	return 0;
}

static int parse(struct top *t, int argc, char **argv)
{
	const struct option_spec specs[] = {
		OPTION_NUMBER('p', "pid", "PID", &t->pid, 1, INT_MAX,
			"print the stacks of all threads of this process, once"),
		OPTION_FLAG(0, "live", &t->live, "with -p: show live what it does"),
		OPTION_FLAG(0, "once", &t->once, "one screen, as text"),
		OPTION_SECONDS('d', "delay", "SECONDS", &t->delay,
			"time from one screen to the next (default 1)"),
		OPTION_SECONDS('w', "window", "SECONDS", &t->window,
			"how much time a screen is about: the latest (default 5)"),
		OPTION_WORD('s', "sort", "KEY", "time cpu gpu count", parse_sort, &t->sort,
			"order of the rows: time, cpu, gpu or count"),
		OPTION_NUMBER('n', "top", "ROWS", &t->rows, 1, INT_MAX,
			"with --once: rows of each table (default 10)"),
		OPTION_NUMBER('F', "frequency", "HZ", &t->hz, 1, 10000,
			"CPU samples a second on each CPU (default 99)"),
		OPTION_CALL(0, "overhead", "PERCENT", parse_overhead, &t->overhead,
			"record GPU work in bursts, so that it costs no more"),
		OPTION_FLAG(0, "cpu-only", &t->cpu_only, "no GPU work"),
		OPTION_FLAG(0, "as-root", &t->as_root,
			"under sudo, run COMMAND as root and not as the calling user"),
		OPTION_END,
	};

	return options_parse(&usage, specs, argc, argv);
}

static bool is_dump(const struct top *t)
{
	return t->pid && !t->live && !t->once;
}

static int check(const struct top *t, char **command)
{
	if (*command && t->pid)
		return options_wrong(&usage, "give one of COMMAND and -p");
	if (t->live && !t->pid)
		return options_wrong(&usage, "--live needs -p");
	if (t->live && t->once)
		return options_wrong(&usage, "--live and --once exclude each other");
	if (t->overhead && t->cpu_only)
		return options_wrong(
			&usage, "--overhead is that of GPU work, and --cpu-only wants none");
	if (t->window > 3600)
		return options_wrong(&usage, "--window takes an hour at most");
	if (!t->once && !is_dump(t) && !terminal_is_there())
		return options_wrong(
			&usage, "standard output is no terminal that can be drawn on: give --once");
	return EXIT_OK;
}

static void put_subject(const struct top *t, char **command, struct buf *b)
{
	if (t->pid)
		buf_printf(b, "process %lu", t->pid);
	else if (!*command)
		buf_puts(b, "the whole system");
	else
		buf_puts(b, *command);
}

static int watch(const struct top *t, char **command, const struct recorder_options *recorder)
{
	struct buf subject = BUF_INIT;
	struct watch_options o = {
		.recorder = recorder,
		.delay_ns = (uint64_t)(t->delay * 1e9) + 1,
		.window_ns = (uint64_t)(t->window * 1e9) + 1,
		.once = t->once,
		.screen = {.sort = t->sort,
			.top = t->rows,
			.colour = !t->once && !getenv("NO_COLOR")},
	};
	int status;

	put_subject(t, command, &subject);
	o.screen.subject = buf_text(&subject);
	status = watch_run(&o);
	buf_release(&subject);
	return status;
}

static int run(const struct top *t, char **command)
{
	struct target_user user;
	struct recorder_options recorder = {
		.user = &user,
		.command = *command ? command : NULL,
		.pid = (pid_t)t->pid,
		.cpu_only = t->cpu_only || is_dump(t), /* nothing is put into it for a look */
		.waits = true,
		.hz = (unsigned int)t->hz,
		.overhead = (uint32_t)t->overhead * 10000,
		.duration_ns = is_dump(t) ? DUMP_NS : 0,
		.live = !is_dump(t),
	};
	int error = target_user_find(&user, t->as_root), status;

	if (error)
		return cmd_failed();
	error = *command ? target_check_command(&user, *command) : 0;
	if (error) {
		cmd_failed();
		status = error == -ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
	} else {
		status = is_dump(t) ? watch_threads(&recorder) : watch(t, command, &recorder);
	}
	target_user_release(&user);
	return status;
}

int cmd_top(int argc, char **argv)
{
	struct top t = {.hz = 99, .rows = 10, .delay = 1, .window = 5};
	int first = parse(&t, argc, argv);
	int status = first < 0 ? options_status(first) : check(&t, argv + first);

	return first < 0 || status ? status : run(&t, argv + first);
}
