// SPDX-License-Identifier: MIT
#include "cmd/cmd.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/io.h"
#include "base/place.h"
#include "base/printable.h"
#include "base/text.h"
#include "record/target.h"

/* Appends a line. */
static void put_line(struct buf *line, const char *format, va_list args)
{
	char *text;

	if (vasprintf(&text, format, args) < 0) {
		line->failed = true;
		return;
	}
	printable_puts(line, text);
	buf_putc(line, '\n');
	free(text);
}

void cmd_error(const char *format, ...)
{
	static const char no_memory[] = "xpuprof: out of memory\n";
	struct buf line = BUF_INIT;
	va_list args;

	buf_puts(&line, "xpuprof: ");
	va_start(args, format);
	put_line(&line, format, args);
	va_end(args);
	if (line.failed)
		(void)io_write_all(STDERR_FILENO, no_memory, sizeof(no_memory) - 1);
	else
		(void)io_write_all(STDERR_FILENO, line.data, line.size);
	buf_release(&line);
}

/* Through stdio, whose errors main reports. */
void cmd_say(const char *format, ...)
{
	struct buf line = BUF_INIT;
	va_list args;

	va_start(args, format);
	put_line(&line, format, args);
	va_end(args);
	fwrite(buf_text(&line), 1, line.size, stdout);
	buf_release(&line);
}

int cmd_print(int fd, const struct buf *lines)
{
	struct buf clean = BUF_INIT;
	int error;

	printable_lines(&clean, buf_text(lines), lines->size);
	error = lines->failed || clean.failed ? -ENOMEM : io_write_all(fd, clean.data, clean.size);
	buf_release(&clean);
	return error;
}

/* A recording that is not there has not been made yet. */
static int missing(const char *path)
{
	const char *dot = strrchr(path, '.');
	struct buf option = BUF_INIT;

	if (!dot || strcmp(dot, ".xpu") != 0)
		return 0; /* whoever opens it says so */
	if (strcmp(path, "profile.xpu") != 0) {
		buf_puts(&option, "-o");
		text_shell_word(&option, path);
		buf_putc(&option, ' ');
	}
	error_set(-ENOENT, "cannot open '%s': %s (make it with: xpuprof record %s-- COMMAND)", path,
		strerror(ENOENT), buf_text(&option));
	buf_release(&option);
	return -ENOENT;
}

int cmd_check_file(const struct user *user, const char *path)
{
	if (!strcmp(path, "-") || !access(path, R_OK))
		return 0;
	if (errno == ENOENT)
		return missing(path);
	if (!user->name)
		return 0;
	/* Whoever opens it says what else is wrong. */
	return errno == EACCES || errno == EPERM ? place_error(user, -errno, "read", path) : 0;
}

int cmd_become_caller(struct user *ret, const char *path)
{
	int error = user_become_caller(ret);

	return error ?: cmd_check_file(ret, path);
}

bool cmd_is_terminal(const char *path)
{
	int named = strcmp(path, "-") ? place_descriptor(path) : STDOUT_FILENO, fd;
	bool is;

	if (named >= 0)
		return isatty(named);
	/* Only of terminals is opening this way known to do nothing. */
	if (strncmp(path, "/dev/tty", 8) != 0 && strncmp(path, "/dev/pts/", 9) != 0)
		return false;
	fd = open(path, O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	is = fd >= 0 && isatty(fd);
	if (fd >= 0)
		close(fd);
	return is;
}

int cmd_failed(void)
{
	cmd_error("%s", error_text());
	return EXIT_FAILED;
}

void cmd_end_like(int wait_status)
{
	if (WIFSIGNALED(wait_status)) {
		struct rlimit no_core = {0};
		sigset_t set;
		int number = WTERMSIG(wait_status);

		/* The other has left its own core file, if any: ours would replace it. */
		setrlimit(RLIMIT_CORE, &no_core);
		signal(number, SIG_DFL);
		sigemptyset(&set);
		sigaddset(&set, number);
		sigprocmask(SIG_UNBLOCK, &set, NULL);
		raise(number);
	}
	exit(target_shell_status(wait_status));
}
