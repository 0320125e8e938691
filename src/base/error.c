// SPDX-License-Identifier: MIT
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static __thread char last_error[1024] = "no error";

int error_set(int code, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(last_error, sizeof(last_error), format, args);
	va_end(args);
	return code;
}

int error_errno(int code, const char *format, ...)
{
	size_t length;
	va_list args;

	va_start(args, format);
	vsnprintf(last_error, sizeof(last_error), format, args);
	va_end(args);
	length = strlen(last_error);
	snprintf(last_error + length, sizeof(last_error) - length, ": %s", strerror(-code));
	return code;
}

int error_memory(const char *what)
{
	if (!what)
		return error_set(-ENOMEM, "out of memory");
	return error_set(-ENOMEM, "not enough memory for %s", what);
}

int error_about(int code, const char *what)
{
	char text[sizeof(last_error)];

	memcpy(text, last_error, sizeof(text));
	return error_set(code, "%s: %s", what, text);
}

const char *error_text(void)
{
	return last_error;
}
