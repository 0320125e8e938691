// SPDX-License-Identifier: MIT
/*
 * One loop, which sleeps until there is something to do. Single records do not wake it
 * (monitor/watch.h): they are read every 50 ms, and not at all where only counts are wanted.
 *
 * Standard output may be slow or stuck: while it blocks, signals are still handled. After the first
 * signal they have their default effect, so that a second Ctrl-C ends us wherever we are; what is
 * attached to the kernel ends with us.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/io.h"
#include "base/printable.h"
#include "cmd/cmd.h"
#include "cmd/monitor/metrics_server.h"
#include "cmd/monitor/monitor.h"
#include "cmd/monitor/stats.h"
#include "record/signals.h"
#include "base/text.h"

/* Losses are reported once in so long. */
#define TICK_NS NS_PER_SECOND
/* What a process asked for comes to its end a moment after it. */
#define AFTER_PROCESS_NS (200 * NS_PER_MS)
/* A pipe that can be written to takes so many bytes at once. */
#define WRITE_BYTES 4096

struct watching {
	const struct monitor_args *args;
	struct watch *watch;
	struct busy_times *busy; /* NULL: no series asks for it */
	struct monitor_lines lines;
	struct metrics_server *server; /* NULL: nobody asked */
	struct signals signals;
	int process; /* pidfd; -1: none */
	struct buf out;

	/* As reported last, and as it was when the interval began. */
	struct watch_event_status status[MONITOR_EVENTS], before[MONITOR_EVENTS];
	struct totals totals; /* when the interval began */

	uint64_t began_ns,
		end_ns; /* end_ns, tick_ns, interval_ns, read_ns: when next; UINT64_MAX: never */
	uint64_t tick_ns, interval_ns, read_ns;
	uint64_t interval_from_ns;
	bool ring_told; /* a ring that nobody has was reported already */
	bool ended;
	bool closed;  /* nobody reads what we print */
	bool printed; /* something has been */
};

/* ------------------------------------------------------------------ output */

/* A signal ends the watch; from then on they are not ours. */
static void handle_signal(struct watching *w)
{
	struct sigaction ignored = {.sa_handler = SIG_IGN};
	bool alone;
	int number = signals_next(&w->signals, &alone);

	if (!number || number == SIGCHLD)
		return;
	w->ended = true;
	signals_close(&w->signals);
	sigaction(SIGPIPE, &ignored, NULL);
}

static int write_failed(struct watching *w, int error)
{
	w->closed = error == -EPIPE;
	w->ended = true;
	return error_errno(error, "cannot write to standard output");
}

/* Writes what has been prepared: 0 or -errno with error_text. */
static int flush(struct watching *w)
{
	struct pollfd fds[] = {
		{.fd = STDOUT_FILENO, .events = POLLOUT}, {.fd = -1, .events = POLLIN}};
	struct buf lines = w->out;
	size_t at = 0;
	int error = 0;

	w->out = BUF_INIT;
	printable_lines(&w->out, buf_text(&lines), lines.size);
	buf_release_for(&lines, &w->out);
	if (w->out.failed)
		return error_memory(NULL);
	while (!error && at < w->out.size && w->signals.fd >= 0) {
		size_t size = w->out.size - at < WRITE_BYTES ? w->out.size - at : WRITE_BYTES;

		fds[1].fd = w->signals.fd;
		if (poll(fds, 2, -1) < 0) {
			error = errno == EINTR ? 0 : -errno;
		} else if (fds[1].revents) {
			handle_signal(w);
		} else {
			error = io_write_all(STDOUT_FILENO, w->out.data + at, size);
			at += size;
		}
	}
	if (!error && at < w->out.size)
		error = io_write_all(STDOUT_FILENO, w->out.data + at, w->out.size - at);
	buf_reset(&w->out);
	return error ? write_failed(w, error) : 0;
}

/* ------------------------------------------------------------------ records and totals */

static int handle_record(void *context, const struct monitor_record *r)
{
	struct watching *w = context;

	if (w->args->lines)
		monitor_line(&w->lines, r, &w->out);
	return w->busy ? busy_times_add_record(w->busy, r) : 0;
}

static int handle_span(void *context, const struct monitor_span *s)
{
	struct watching *w = context;

	return w->busy ? busy_times_add(w->busy, s) : 0;
}

/* Lines are as wide as the terminal is now. */
static int read_records(struct watching *w)
{
	const struct watch_sink sink = {w, handle_record, handle_span};
	int error;

	if (w->args->form == FORM_TEXT && isatty(STDOUT_FILENO))
		w->lines.width = text_width(STDOUT_FILENO, 0);
	error = watch_read(w->watch, &sink);
	w->read_ns = clock_now_ns() + WATCH_READ_MS * NS_PER_MS;
	return error == -ENOMEM ? error_set(error, "out of memory") : error;
}

static bool reads_records(const struct watching *w)
{
	return w->args->lines || w->busy;
}

/* Everything up to now; lines that come with it stay in w->out. */
static int fetch(void *context, struct totals *ret)
{
	struct watching *w = context;
	int error = reads_records(w) ? read_records(w) : 0;

	return error ?: totals_fetch(w->args->monitor, w->watch, w->busy, ret);
}

/* ------------------------------------------------------------------ statistics */

static void print_stats(struct watching *w, const struct monitor_stats *s)
{
	unsigned int width = isatty(STDOUT_FILENO) ? text_width(STDOUT_FILENO, 0) : 0;

	if (w->args->form == FORM_TEXT && w->printed)
		buf_putc(&w->out, '\n');
	w->printed = true;
	if (w->args->form == FORM_JSON)
		monitor_stats_json(s, &w->out);
	else if (w->args->form == FORM_TEXT)
		monitor_stats_text(s, width, &w->out);
	else if (!w->args->lines)
		monitor_stats_csv(s, &w->out);
}

static struct monitor_stats stats_of(const struct watching *w, const struct totals *t)
{
	return (struct monitor_stats){.monitor = w->args->monitor,
		.totals = t,
		.began_ns = w->began_ns,
		.until_ns = t->until_ns,
		.pid = w->args->pid,
		.ring = w->args->ring};
}

static int print_interval(struct watching *w)
{
	struct totals now, since = TOTALS_INIT;
	struct watch_event_status status[MONITOR_EVENTS];
	struct monitor_stats s;
	int error = fetch(w, &now);

	if (error)
		return error;
	error = totals_since(&now, &w->totals, &since);
	s = stats_of(w, &since);
	s.from_ns = w->interval_from_ns;
	error = error ?: monitor_stats_gather(w->watch, &s);
	if (!error) {
		memcpy(status, s.status, sizeof(status));
		monitor_losses_since(&s, w->before);
		memcpy(w->before, status, sizeof(status));
		print_stats(w, &s);
		w->interval_from_ns = now.until_ns;
	}
	totals_release(&since);
	totals_release(&w->totals);
	w->totals = now;
	return error;
}

static int print_whole(struct watching *w)
{
	struct totals t;
	struct monitor_stats s;
	int error = fetch(w, &t);

	if (error)
		return error;
	s = stats_of(w, &t);
	s.from_ns = w->began_ns;
	s.until_ns = w->end_ns;
	s.whole = true;
	error = w->server ? metrics_server_add_ended(w->server, &t) : 0;
	error = error ?: monitor_stats_gather(w->watch, &s);
	/* What is attached is so no more. */
	for (size_t e = 0; !error && e < s.event_count; e++)
		s.status[e].attached = w->status[e].attached;
	error = error ?: monitor_stats_left(w->watch, &s);
	if (!error)
		print_stats(w, &s);
	monitor_stats_release(&s);
	totals_release(&t);
	return error;
}

/* ------------------------------------------------------------------ what is reported meanwhile */

/* That a ring was asked for which nobody seems to have; once. */
static int tell_ring(struct watching *w)
{
	struct buf others = BUF_INIT;
	struct totals t;
	int error = w->args->ring && !w->ring_told ? fetch(w, &t) : -ENODATA;

	if (error)
		return error == -ENODATA ? 0 : error;
	if (monitor_rings_seen(w->args->monitor, &t, w->args->ring, &others)) {
		w->ring_told = true;
	} else if (others.size) {
		w->ring_told = true;
		cmd_error("nothing was of %s '%s' so far; seen were: %s", w->args->monitor->ring,
			w->args->ring, others.data);
	}
	buf_release(&others);
	totals_release(&t);
	return 0;
}

static uint64_t lost_records(const struct watch_event_status *status, size_t count)
{
	uint64_t lost = 0;

	for (size_t e = 0; e < count; e++)
		lost += status[e].totals.records;
	return lost;
}

/* One line for all that vanished since then: they go with their module. */
static void tell_vanished(const struct watching *w, const struct monitor_stats *now)
{
	struct buf names = BUF_INIT;
	size_t count = 0;

	for (size_t e = 0; e < now->event_count; e++)
		if (now->status[e].vanished && !w->status[e].vanished)
			buf_printf(&names, "%s%s", count++ ? ", " : "",
				w->args->monitor->events[e].name);
	if (count)
		cmd_error("not watched any more, as %s module was unloaded: %s",
			count > 1 ? "their" : "its", buf_text(&names));
	buf_release(&names);
}

/* Losses and events that vanished since the last report; without lines, only statistics show
 * losses. */
static int tell_losses(struct watching *w)
{
	struct monitor_stats now = {.monitor = w->args->monitor};
	int error = monitor_stats_gather(w->watch, &now);
	uint64_t lost, reported;
	char cell[TEXT_CELL];

	if (error)
		return error;
	lost = lost_records(now.status, now.event_count);
	reported = lost_records(w->status, now.event_count);
	if (w->args->lines && lost > reported)
		cmd_error("%s events are missing here: they come faster than they are printed",
			text_count(cell, lost - reported));
	if (w->args->lines)
		tell_vanished(w, &now);
	memcpy(w->status, now.status, sizeof(w->status));
	return 0;
}

static int tick(struct watching *w)
{
	int error = w->args->lines ? tell_losses(w) : 0;

	error = error ?: tell_ring(w);
	w->tick_ns = clock_now_ns() + TICK_NS;
	return error;
}

static void process_ended(struct watching *w, uint64_t now_ns)
{
	cmd_error("process %u ended", w->args->pid);
	close(w->process);
	w->process = -1;
	if (now_ns + AFTER_PROCESS_NS < w->end_ns)
		w->end_ns = now_ns + AFTER_PROCESS_NS;
}

/* ------------------------------------------------------------------ the loop */

enum { FD_SIGNAL, FD_WATCH, FD_PROCESS, FD_SERVER, FD_OUTPUT, FD_COUNT };

static uint64_t earliest(const struct watching *w, uint64_t now_ns)
{
	int server_ms = w->server ? metrics_server_timeout_ms(w->server) : -1;
	uint64_t next = w->end_ns;

	next = w->tick_ns < next ? w->tick_ns : next;
	next = w->interval_ns < next ? w->interval_ns : next;
	next = w->read_ns < next ? w->read_ns : next;
	if (server_ms >= 0 && now_ns + (uint64_t)server_ms * NS_PER_MS < next)
		next = now_ns + (uint64_t)server_ms * NS_PER_MS;
	return next;
}

static int wait_for_something(struct watching *w, struct pollfd fds[FD_COUNT])
{
	uint64_t now_ns = clock_now_ns(), next_ns = earliest(w, now_ns);
	uint64_t left_ns = next_ns > now_ns ? next_ns - now_ns : 0;
	struct timespec timeout = {
		(time_t)(left_ns / NS_PER_SECOND), (long)(left_ns % NS_PER_SECOND)};

	fds[FD_SIGNAL] = (struct pollfd){.fd = w->signals.fd, .events = POLLIN};
	fds[FD_WATCH] =
		(struct pollfd){.fd = reads_records(w) ? watch_fd(w->watch) : -1, .events = POLLIN};
	fds[FD_PROCESS] = (struct pollfd){.fd = w->process, .events = POLLIN};
	fds[FD_SERVER] = (struct pollfd){
		.fd = w->server ? metrics_server_fd(w->server) : -1, .events = POLLIN};
	/* Only whether the other end of a pipe is closed, which is an event that is always asked
	 * for. */
	fds[FD_OUTPUT] = (struct pollfd){.fd = STDOUT_FILENO};
	if (ppoll(fds, FD_COUNT, next_ns == UINT64_MAX ? NULL : &timeout, NULL) < 0) {
		if (errno != EINTR)
			return error_errno(-errno, "cannot wait");
		for (size_t i = 0; i < FD_COUNT; i++)
			fds[i].revents = 0;
	}
	return 0;
}

static int do_timed(struct watching *w, bool ring_fills)
{
	uint64_t now_ns = clock_now_ns();
	int error = 0;

	if (ring_fills || now_ns >= w->read_ns)
		error = read_records(w);
	if (!error && now_ns >= w->interval_ns) {
		error = print_interval(w);
		while (w->interval_ns <= now_ns)
			w->interval_ns += (uint64_t)(w->args->interval * 1e9);
	}
	if (!error && now_ns >= w->tick_ns)
		error = tick(w);
	if (now_ns >= w->end_ns)
		w->ended = true;
	return error;
}

static int loop(struct watching *w)
{
	int error = 0;

	while (!error && !w->ended) {
		struct pollfd fds[FD_COUNT];

		error = wait_for_something(w, fds);
		if (error)
			break;
		if (fds[FD_SIGNAL].revents)
			handle_signal(w);
		if (fds[FD_OUTPUT].revents & (POLLERR | POLLHUP))
			w->closed = w->ended = true;
		if (fds[FD_PROCESS].revents)
			process_ended(w, clock_now_ns());
		error = do_timed(w, fds[FD_WATCH].revents);
		if (!error && w->server)
			error = metrics_server_run(w->server);
		error = error ?: w->closed ? 0 : flush(w);
	}
	return error;
}

/* ------------------------------------------------------------------ begin and end */

static bool has_busy(const struct monitor *m)
{
	for (const struct monitor_series *s = m->series; s->name; s++)
		if (s->busy)
			return true;
	return false;
}

/* Finds the process that is asked for. */
static int open_process(struct watching *w)
{
	uint32_t pid = w->args->pid;

	if (!pid)
		return 0;
	w->process = (int)syscall(SYS_pidfd_open, pid, 0);
	if (w->process >= 0)
		return 0;
	if (errno == ESRCH)
		return error_set(-ESRCH, "there is no process %u", pid);
	/* What a thread's number gives. */
	if (errno == EINVAL || errno == ENOENT)
		return error_set(-EINVAL, "%u is a thread, not a process", pid);
	return error_errno(-errno, "cannot watch process %u", pid);
}

static int open_watch(struct watching *w)
{
	const struct monitor_args *a = w->args;
	const struct watch_options options = {
		.monitor = a->monitor,
		.pid = a->pid,
		.ring = a->ring,
		.records = a->lines,
		.above_event = a->above_event,
		.above = a->above_ns,
	};
	struct monitor_kernel kernel;
	int error;

	monitor_kernel_look("", &kernel);
	error = watch_open(&options, &kernel, &w->watch);
	monitor_kernel_release(&kernel);
	w->began_ns = w->interval_from_ns = clock_now_ns();
	return error;
}

static uint64_t after(uint64_t from_ns, double seconds)
{
	return seconds > 0 ? from_ns + (uint64_t)(seconds * 1e9) : UINT64_MAX;
}

static int start_server(struct watching *w)
{
	const struct metrics_source source = {
		.monitor = w->args->monitor,
		.watch = w->watch,
		.busy = w->busy,
		.pid = w->args->pid,
		.ring = w->args->ring,
		.fetch = fetch,
		.context = w,
		.quiet_ns = w->args->interval > 0 ? (uint64_t)(w->args->interval * 1e9) : 0,
	};

	return w->server ? metrics_server_start(w->server, &source) : 0;
}

static void tell_address(const char *address)
{
	if (strchr(address, '/'))
		cmd_error("metrics are at http://localhost/metrics of the Unix socket %s", address);
	else
		cmd_error("metrics are at http://%s/metrics", address);
}

/* Events that cannot be watched are reported at the beginning, too. */
static void tell_beginning(const struct watching *w, size_t events)
{
	const struct monitor *m = w->args->monitor;
	size_t watched = 0;

	for (size_t e = 0; e < events; e++)
		watched += w->status[e].attached;
	if (watched < events)
		cmd_error(
			"%zu of %zu events of %s are not watched: 'xpuprof monitor list' shows why",
			events - watched, events, m->name);
	if (w->server)
		tell_address(metrics_server_address(w->server));
	if (!w->args->lines && w->args->interval <= 0 && w->args->seconds <= 0 &&
		isatty(STDERR_FILENO))
		cmd_error("watching %s; Ctrl-C ends it and prints the statistics", m->name);
}

static int begin(struct watching *w)
{
	const struct monitor_args *a = w->args;
	struct monitor_stats first = {.monitor = a->monitor};
	int error = signals_open(&w->signals);

	error = error ?: open_process(w);
	error = error || !a->metrics ? error : metrics_server_open(a->metrics, &w->server);
	error = error || !has_busy(a->monitor) ? error : busy_times_new(a->monitor, &w->busy);
	error = error ?: open_watch(w);
	error = error ?: monitor_stats_gather(w->watch, &first);
	error = error ?: monitor_lines_init(&w->lines, a->monitor, w->status, a->form);
	error = error ?: start_server(w);
	if (error)
		return error;
	memcpy(w->status, first.status, sizeof(w->status));
	memcpy(w->before, first.status, sizeof(w->before));
	w->end_ns = after(w->began_ns, a->seconds);
	w->interval_ns = after(w->began_ns, a->interval);
	w->tick_ns = a->lines || a->ring ? w->began_ns + TICK_NS : UINT64_MAX;
	w->read_ns = reads_records(w) ? w->began_ns + WATCH_READ_MS * NS_PER_MS : UINT64_MAX;
	tell_beginning(w, first.event_count);
	return 0;
}

/* The heading, before anything happens. */
static int print_heading(struct watching *w)
{
	if (w->args->form == FORM_TEXT && isatty(STDOUT_FILENO))
		w->lines.width = text_width(STDOUT_FILENO, 0);
	w->printed = w->args->lines;
	if (w->args->lines)
		monitor_heading(&w->lines, &w->out);
	else if (w->args->form == FORM_CSV)
		monitor_stats_csv_heading(&w->out);
	return flush(w);
}

static int end(struct watching *w)
{
	int error;

	w->end_ns = clock_now_ns();
	if (w->closed)
		return 0;
	error = tell_losses(w);
	watch_stop(w->watch);
	error = error ?: print_whole(w);
	return error ?: flush(w);
}

int monitor_watch(const struct monitor_args *a)
{
	struct watching w = {.args = a, .signals = SIGNALS_INIT, .process = -1};
	int error = begin(&w);

	error = error ?: print_heading(&w);
	error = error ?: loop(&w);
	error = error ?: end(&w);
	/* Whoever closes a pipe has seen enough. */
	if (error && !w.closed)
		cmd_failed();
	metrics_server_close(w.server);
	totals_release(&w.totals);
	monitor_lines_release(&w.lines);
	watch_close(w.watch);
	busy_times_free(w.busy);
	if (w.process >= 0)
		close(w.process);
	buf_release(&w.out);
	signals_close(&w.signals);
	return error && !w.closed ? EXIT_FAILED : EXIT_OK;
}
