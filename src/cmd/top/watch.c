// SPDX-License-Identifier: MIT
#include "cmd/top/watch.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "cmd/cmd.h"
#include "cmd/top/feed.h"
#include "cmd/top/terminal.h"
#include "top/threads.h"

/* What happened is in the profile this much later: GPUs report their work with a delay, and
 * recorders gather some. */
#define LATE_NS (1500 * NS_PER_MS)
/* Why a GPU was idle is seen in what was before. */
#define BEFORE_NS (3 * NS_PER_SECOND)
/* Of events; a stretch that is too long for that gets shorter. */
#define EVENTS_BYTES ((uint64_t)256 << 20)
/* A screen is drawn after so many times as long as it takes. */
#define PAUSE_TIMES 4

struct watch {
	const struct watch_options *options;
	struct screen_options screen;
	struct feed feed;
	struct moment moment;
	bool has_moment, has_terminal;
	bool paused, over;
	int signals;		   /* descriptor; -1: none */
	int signal;		   /* that ends us; 0: none */
	uint64_t start_ns, end_ns; /* of the recording; 0: not known */
	uint64_t due_ns;
};

/* ------------------------------------------------------------------ what is seen */

/* The stretch that is shown: the latest of which all has come. */
static bool find_stretch(const struct watch *w, uint64_t *ret_from_ns, uint64_t *ret_to_ns)
{
	uint64_t now_ns = clock_now_ns(), since_ns = recent_since_ns(w->feed.recent);
	uint64_t to_ns = w->end_ns ?: now_ns - LATE_NS, from_ns = to_ns - w->options->window_ns;

	if (since_ns < w->start_ns)
		since_ns = w->start_ns;
	*ret_from_ns = from_ns < since_ns || from_ns > to_ns ? since_ns : from_ns;
	*ret_to_ns = to_ns;
	return *ret_from_ns < to_ns;
}

static int read_moment(struct watch *w)
{
	const char *path = recent_path(w->feed.recent);
	uint64_t from_ns, to_ns;
	struct moment moment;
	int error = 0;

	if (!w->start_ns || w->feed.ended)
		error = moment_bounds(path, &w->start_ns, &w->end_ns);
	if (error || !w->start_ns || !find_stretch(w, &from_ns, &to_ns))
		return error;
	error = moment_read(&moment, path, w->start_ns, from_ns, to_ns);
	if (w->has_moment)
		moment_release(&w->moment);
	w->moment = moment;
	w->has_moment = true;
	return error;
}

static int look(struct watch *w)
{
	uint64_t before_ns = clock_now_ns() - w->options->window_ns - LATE_NS - BEFORE_NS;
	int error;

	recent_forget(w->feed.recent, w->feed.ended ? 0 : before_ns, EVENTS_BYTES);
	error = recent_publish(w->feed.recent);
	if (error == -EAGAIN)
		return 0;
	return error ?: read_moment(w);
}

/* ------------------------------------------------------------------ what is shown */

static void put_hint(const struct watch *w, struct buf *hint)
{
	buf_printf(hint, "%sq: quit, s: by %s, space: %s",
		w->feed.ended ? "the recording has ended; " : "", screen_sort_name(w->screen.sort),
		w->paused ? "go on" : "pause");
}

static int draw(struct watch *w)
{
	struct terminal_size size = terminal_size();
	struct buf lines = BUF_INIT, hint = BUF_INIT;
	int error;

	put_hint(w, &hint);
	w->screen.hint = buf_text(&hint);
	w->screen.messages = buf_text(&w->feed.messages);
	w->screen.columns = size.columns;
	w->screen.rows = size.rows;
	if (w->has_moment)
		screen_draw(&w->moment, &w->screen, &lines);
	else
		buf_printf(&lines, "xpuprof top: the recording begins\n%s\n", buf_text(&hint));
	error = terminal_show(&lines);
	buf_release(&hint);
	buf_release(&lines);
	return error;
}

static int refresh(struct watch *w)
{
	uint64_t begin_ns = clock_now_ns(), took_ns;
	int error = w->paused ? 0 : look(w);

	took_ns = clock_now_ns() - begin_ns;
	w->due_ns =
		begin_ns + (PAUSE_TIMES * took_ns > w->options->delay_ns ? PAUSE_TIMES * took_ns
									 : w->options->delay_ns);
	return error ?: draw(w);
}

/* ------------------------------------------------------------------ what people do */

static void heed_key(struct watch *w, int key)
{
	switch (key) {
	case -1:
	case 'q':
	case 'Q':
		w->over = true;
		break;
	case 's':
		w->screen.sort = (w->screen.sort + 1) % SCREEN_SORTS;
		break;
	case ' ':
	case 'p':
		w->paused = !w->paused;
		break;
	default:
		return;
	}
	w->due_ns = 0;
}

static void heed_signals(struct watch *w)
{
	struct signalfd_siginfo info;

	while (w->signals >= 0 && read(w->signals, &info, sizeof(info)) == sizeof(info)) {
		w->due_ns = 0;
		if (info.ssi_signo == SIGWINCH)
			continue;
		w->signal = (int)info.ssi_signo;
		w->over = true;
	}
}

/* After the recorder was started, whose program shall have the signals as they were. */
static int open_signals(struct watch *w)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGQUIT, SIGHUP, SIGWINCH};
	struct sigaction as_it_was;
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		if (!sigaction(numbers[i], NULL, &as_it_was) && as_it_was.sa_handler != SIG_IGN)
			sigaddset(&set, numbers[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	w->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return w->signals < 0 ? error_errno(-errno, "cannot watch for signals") : 0;
}

/* ------------------------------------------------------------------ all of it */

static int wait_ms(const struct watch *w)
{
	uint64_t now_ns = clock_now_ns();

	return now_ns >= w->due_ns ? 0 : (int)((w->due_ns - now_ns) / NS_PER_MS) + 1;
}

/* A descriptor that has ended would be readable for ever. */
static int round_of(struct watch *w)
{
	const int extra[] = {w->signals, w->has_terminal ? STDIN_FILENO : -1};
	bool ended = w->feed.ended;
	int error = feed_wait(&w->feed, extra, 2, wait_ms(w)), key;

	heed_signals(w);
	while (w->has_terminal && !w->over && (key = terminal_key()))
		heed_key(w, key);
	if (w->feed.ended && !ended)
		w->due_ns = 0;
	return error;
}

/* Until there is a whole stretch, or the recorder has ended. */
static int watch_once(struct watch *w)
{
	uint64_t until_ns = 0;
	int error = 0;

	while (!error && !w->over && !w->feed.ended && (!until_ns || clock_now_ns() < until_ns)) {
		w->due_ns = until_ns ?: clock_now_ns() + w->options->delay_ns;
		error = round_of(w);
		if (!error && !until_ns)
			error = look(w);
		if (w->start_ns && !until_ns)
			until_ns = w->start_ns + w->options->window_ns + LATE_NS;
	}
	return error ?: look(w);
}

static int watch_live(struct watch *w)
{
	int error = terminal_begin();

	w->has_terminal = !error;
	while (!error && !w->over) {
		error = round_of(w);
		if (!error && clock_now_ns() >= w->due_ns)
			error = refresh(w);
		/* One that could not even begin has said why. */
		if (w->feed.ended && !w->start_ns)
			break;
	}
	terminal_end();
	return error;
}

static void print_messages(const struct buf *messages)
{
	char *text = strdup(buf_text(messages)), *rest = text, *line;

	while (text && (line = strsep(&rest, "\n")))
		if (*line)
			cmd_error("%s", line);
	free(text);
}

/* What comes while the recorder ends is read, so that nothing holds it up. */
static int end(struct watch *w)
{
	recorder_stop(&w->feed.recorder);
	while (!w->feed.ended) {
		const int extra[] = {w->signals};

		if (feed_wait(&w->feed, extra, 1, -1))
			break;
		w->signal = 0;
		heed_signals(w);
		if (w->signal)
			recorder_stop(&w->feed.recorder);
	}
	return recorder_end(&w->feed.recorder);
}

static int print_moment(struct watch *w)
{
	struct buf lines = BUF_INIT;
	int error;

	if (!w->has_moment)
		return EXIT_FAILED;
	w->screen.messages = NULL;
	screen_draw(&w->moment, &w->screen, &lines);
	error = cmd_print(STDOUT_FILENO, &lines);
	buf_release(&lines);
	if (error) {
		error_errno(error, "cannot write");
		return cmd_failed();
	}
	return EXIT_OK;
}

static int run(struct watch *w)
{
	bool once = w->options->once;
	int error = once ? watch_once(w) : watch_live(w), status, ended, signal;

	status = error ? cmd_failed() : EXIT_OK;
	signal = w->signal;
	ended = end(w);
	if (once || ended)
		print_messages(&w->feed.messages);
	if (ended > 0 && !w->has_moment)
		return ended;
	if (signal)
		return 128 + signal;
	return once && !error ? print_moment(w) : status;
}

int watch_run(const struct watch_options *o)
{
	struct watch w = {.options = o, .screen = o->screen, .signals = -1};
	int status;

	if (feed_open(&w.feed, o->recorder) || open_signals(&w))
		status = cmd_failed();
	else
		status = run(&w);
	if (w.signals >= 0)
		close(w.signals);
	if (w.has_moment)
		moment_release(&w.moment);
	feed_release(&w.feed);
	return status;
}

static int print_threads(struct feed *f, uint32_t pid)
{
	struct buf text = BUF_INIT;
	int error = recent_publish(f->recent);

	error = error ?: threads_text(recent_path(f->recent), pid, &text);
	if (!error && (error = cmd_print(STDOUT_FILENO, &text)))
		error_errno(error, "cannot write");
	buf_release(&text);
	return error ? cmd_failed() : EXIT_OK;
}

int watch_threads(const struct recorder_options *recorder)
{
	struct feed feed;
	int status = EXIT_FAILED, ended;

	if (feed_open(&feed, recorder)) {
		status = cmd_failed();
	} else {
		ended = feed_close(&feed);
		print_messages(&feed.messages);
		status = ended ? EXIT_FAILED : print_threads(&feed, (uint32_t)recorder->pid);
	}
	feed_release(&feed);
	return status;
}
