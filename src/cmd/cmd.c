// SPDX-License-Identifier: MIT
#include "cmd/cmd.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "base/error.h"
#include "base/io.h"

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
