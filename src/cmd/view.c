// SPDX-License-Identifier: MIT
/* `xpuprof view`: a recording in the browser. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/io.h"
#include "cmd/cmd.h"
#include "cmd/options.h"
#include "page/page.h"
#include "record/target.h"

/* Larger pieces of memory go back to the system when they are freed: what an answer was made in is
 * not kept until the next one. */
#define KEPT_BYTES_MAX (1 << 20)

static const struct option_usage usage = {
	.command = "view",
	.operands = "FILE",
	.synopsis = "[options] [FILE]\n       xpuprof view [options] FIRST SECOND",
	.summary = "Shows a recording in the browser: when something happened, and the flame graph "
		   "of\n"
		   "any range; or the second of two, compared with the first. FILE is profile.xpu\n"
		   "unless given. Ctrl-C ends it.",
};

struct viewing {
	struct page *page;
	struct http_server *http;
	int signals;
	char address[256];	/* of the page */
	char forward[PATH_MAX]; /* a file that leads there; "": none */
};

/* Blocked from here on; browsers that we start get them as they were. */
static int open_signals(struct viewing *v, sigset_t *before)
{
	sigset_t ends;

	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGHUP);
	sigprocmask(SIG_BLOCK, &ends, before);
	v->signals = signalfd(-1, &ends, SFD_CLOEXEC);
	return v->signals < 0 ? error_errno(-errno, "cannot wait for signals") : 0;
}

/* ------------------------------------------------------------------ browser */

static bool has_display(void)
{
	const char *x = getenv("DISPLAY"), *wayland = getenv("WAYLAND_DISPLAY");

	return (x && *x) || (wayland && *wayland);
}

/* Everybody may read the arguments of a browser: it gets the name of a file, which only the user
 * can read and which has the address with its secret. */
static bool write_forward(struct viewing *v)
{
	const char *folder = getenv("XDG_RUNTIME_DIR");
	struct buf text = BUF_INIT;
	bool written;
	int fd;

	snprintf(v->forward, sizeof(v->forward), "%s/xpuprof-view-XXXXXX.html",
		folder && *folder == '/' ? folder : "/tmp");
	fd = mkostemps(v->forward, (int)strlen(".html"), O_CLOEXEC);
	if (fd < 0) {
		v->forward[0] = '\0';
		return false;
	}
	buf_printf(&text,
		"<!DOCTYPE html>\n<meta charset=\"utf-8\"><meta name=\"referrer\" "
		"content=\"no-referrer\">"
		"<meta http-equiv=\"refresh\" content=\"0;url=%s\"><title>xpuprof</title>\n",
		v->address);
	written = !text.failed && !io_write_all(fd, text.data, text.size);
	close(fd);
	buf_release(&text);
	return written;
}

/* A grandchild, which nobody waits for. What it prints is not ours. */
static void start_browser(const char *file, const sigset_t *signals)
{
	int nothing = open("/dev/null", O_RDWR | O_CLOEXEC), status;
	pid_t child = fork();

	if (!child) {
		if (!fork()) {
			setsid();
			sigprocmask(SIG_SETMASK, signals, NULL);
			if (nothing >= 0 && dup2(nothing, 0) >= 0 && dup2(nothing, 1) >= 0 &&
				dup2(nothing, 2) >= 0)
				execlp("xdg-open", "xdg-open", file, (char *)NULL);
		}
		_exit(0);
	}
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (nothing >= 0)
		close(nothing);
}

/* Where there is no screen, the browser is on another machine. */
static void tell(struct viewing *v, const sigset_t *signals, bool browser)
{
	const char *port = strrchr(http_address(v->http), ':') + 1;
	char host[256] = "HOST";

	cmd_say("%s", v->address);
	if (browser && has_display()) {
		if (write_forward(v))
			start_browser(v->forward, signals);
		else
			cmd_error("cannot write a file for the browser: open that address there");
		return;
	}
	if (has_display())
		return;
	(void)gethostname(host, sizeof(host) - 1);
	cmd_say("from another machine: ssh -L %s:127.0.0.1:%s %s, then open that address there",
		port, port, host);
}

/* ------------------------------------------------------------------ serving */

static int serve(struct viewing *v)
{
	int error = 0;

	for (;;) {
		struct pollfd fds[] = {{.fd = http_fd(v->http), .events = POLLIN},
			{.fd = v->signals, .events = POLLIN}};

		if (poll(fds, 2, page_has_work(v->page) ? 0 : http_timeout_ms(v->http)) < 0 &&
			errno != EINTR)
			return error_errno(-errno, "cannot wait for the browser");
		if (fds[1].revents)
			return 0;
		error = http_run(v->http);
		if (!error && page_has_work(v->page))
			error = page_work(v->page);
		if (error)
			return error;
	}
}

/* What is to be shown. */
struct view_files {
	const char *paths[PAGE_RECORDINGS_MAX];
	size_t count;
};

static int view(const struct view_files *files, unsigned long port, bool browser)
{
	struct viewing v = {.signals = -1};
	sigset_t before;
	char where[32];
	int error;

	(void)mallopt(M_MMAP_THRESHOLD, KEPT_BYTES_MAX);
	error = page_open(&v.page, files->paths, files->count);
	snprintf(where, sizeof(where), "127.0.0.1:%lu", port);
	error = error ?: http_open(where, &v.http);
	error = error ?: http_start(v.http, page_answer, v.page);
	error = error ?: open_signals(&v, &before);
	if (!error) {
		snprintf(v.address, sizeof(v.address), "http://%s%s", http_address(v.http),
			page_path(v.page));
		tell(&v, &before, browser);
		fflush(stdout); /* whoever reads it waits for it */
		error = serve(&v);
	}
	if (v.forward[0])
		(void)unlink(v.forward);
	if (v.signals >= 0)
		close(v.signals);
	http_close(v.http);
	page_close(v.page);
	return error;
}

static int take_files(struct view_files *f, int argc, char **argv, int first)
{
	if (argc - first > PAGE_RECORDINGS_MAX)
		return options_wrong(&usage,
			"one recording, or two that are compared: not '%s' too",
			argv[first + PAGE_RECORDINGS_MAX]);
	f->paths[0] = "profile.xpu";
	f->count = 1;
	for (int n = first; n < argc; n++) {
		f->paths[n - first] = argv[n];
		f->count = (size_t)(n - first) + 1;
	}
	return EXIT_OK;
}

/* As the user who called sudo, with that user's environment: where the screen is, and the browser's
 * own files. */
static int view_as(struct target_user *caller, const struct view_files *files, unsigned long port,
	bool browser)
{
	char **before = environ;
	struct user user;
	int error = cmd_become_caller(&user, files->paths[0]);

	if (caller->account.switched)
		environ = caller->environment;
	for (size_t n = 1; !error && n < files->count; n++)
		error = cmd_check_file(&user, files->paths[n]);
	error = error ?: view(files, port, browser);
	user_release(&user);
	environ = before;
	return error;
}

int cmd_view(int argc, char **argv)
{
	bool no_browser = false;
	unsigned long port = 0;
	struct view_files files;
	struct target_user caller;
	const struct option_spec specs[] = {
		OPTION_NUMBER(
			0, "port", "N", &port, 1, 65535, "serve at this port (any that is free)"),
		OPTION_FLAG(0, "no-browser", &no_browser, "print the address and open no browser"),
		OPTION_END,
	};
	int first = options_parse(&usage, specs, argc, argv), error;

	if (first < 0)
		return options_status(first);
	if (take_files(&files, argc, argv, first))
		return EXIT_USAGE;
	error = target_user_find(&caller, false);
	if (error)
		return cmd_failed();
	error = view_as(&caller, &files, port, !no_browser);
	target_user_release(&caller);
	return error ? cmd_failed() : EXIT_OK;
}
