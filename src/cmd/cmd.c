// SPDX-License-Identifier: MIT
#include "cmd/cmd.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/io.h"
#include "record/target.h"

void cmd_error(const char *format, ...)
{
	char text[1200];
	int length = snprintf(text, sizeof(text), "xpuprof: ");
	va_list args;

	va_start(args, format);
	length += vsnprintf(text + length, sizeof(text) - (size_t)length - 1, format, args);
	va_end(args);
	if ((size_t)length > sizeof(text) - 2)
		length = sizeof(text) - 2;
	text[length++] = '\n';
	(void)io_write_all(STDERR_FILENO, text, (size_t)length);
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
