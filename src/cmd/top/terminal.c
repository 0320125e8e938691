// SPDX-License-Identifier: MIT
#include "cmd/top/terminal.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/error.h"
#include "base/io.h"

#define BEGIN "\033[?1049h\033[?25l" /* second screen, no cursor */
#define END   "\033[0m\033[?25h\033[?1049l"

static struct termios before;
static volatile sig_atomic_t begun;
static bool has_keys; /* standard input is a terminal, too */

bool terminal_is_there(void)
{
	const char *term = getenv("TERM");

	return isatty(STDOUT_FILENO) && term && *term && strcmp(term, "dumb") != 0;
}

/* For signal handlers, too. */
void terminal_end(void)
{
	ssize_t unused;

	if (!begun)
		return;
	begun = 0;
	unused = write(STDOUT_FILENO, END, strlen(END));
	(void)unused;
	if (has_keys)
		tcsetattr(STDIN_FILENO, TCSANOW, &before);
}

/* Something is wrong with us: what happens then by default, behind a clean terminal. */
static void crash(int number)
{
	terminal_end();
	raise(number);
}

static void watch_crashes(void)
{
	static const int numbers[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS};
	struct sigaction action = {.sa_handler = crash, .sa_flags = SA_RESETHAND | SA_NODEFER};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		sigaction(numbers[i], &action, NULL);
}

int terminal_begin(void)
{
	struct termios raw;
	int error;

	has_keys = isatty(STDIN_FILENO) && !tcgetattr(STDIN_FILENO, &before);
	watch_crashes();
	begun = 1;
	if (has_keys) {
		raw = before;
		raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
		raw.c_cc[VMIN] = 0;
		raw.c_cc[VTIME] = 0;
		/* A stopped screen would hold up the recording. */
		raw.c_cc[VSUSP] = _POSIX_VDISABLE;
		tcsetattr(STDIN_FILENO, TCSANOW, &raw);
	}
	error = io_write_all(STDOUT_FILENO, BEGIN, strlen(BEGIN));
	if (!error)
		return 0;
	terminal_end();
	return error_errno(error, "cannot write to the terminal");
}

struct terminal_size terminal_size(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || !size.ws_col || !size.ws_row)
		return (struct terminal_size){80, 24};
	return (struct terminal_size){size.ws_col, size.ws_row};
}

int terminal_show(const struct buf *lines)
{
	const char *text = buf_text(lines);
	struct buf out = BUF_INIT;
	int error;

	buf_puts(&out, "\033[H");
	while (*text) {
		size_t size = strcspn(text, "\n");

		buf_append(&out, text, size);
		buf_puts(&out, "\033[K");
		text += size + (text[size] == '\n');
		if (*text)
			buf_putc(&out, '\n');
	}
	buf_puts(&out, "\033[J");
	error = out.failed || lines->failed ? -ENOMEM
					    : io_write_all(STDOUT_FILENO, out.data, out.size);
	buf_release(&out);
	return error ? error_errno(error, "cannot write to the terminal") : 0;
}

int terminal_key(void)
{
	struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
	unsigned char key;
	ssize_t n;

	if (!has_keys || poll(&p, 1, 0) != 1)
		return 0;
	n = read(STDIN_FILENO, &key, 1);
	return n == 1 ? key : p.revents & (POLLHUP | POLLERR) || n < 0 ? -1 : 0;
}
