// SPDX-License-Identifier: MIT
#include "export/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/io.h"

#define BUFFER_BYTES ((size_t)256 << 10)

struct output {
	int fd;
	int error;
	char *path;   /* as the user wrote it, for messages */
	char *target; /* where the temporary file goes in the end; NULL: written directly */
	char *temporary;
	size_t filled;
	char buffer[BUFFER_BYTES];
};

static int cannot_write(const struct output *o, int code)
{
	return error_errno(code, "cannot write '%s'", o->path);
}

/* "/dev/fd/3" of "3>file" stands for a file, and must not be replaced by another. */
bool output_is_file(const char *path)
{
	static const char *const names[] = {"/dev/std", "/dev/fd/", "/proc/"};
	struct stat st;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strncmp(path, names[i], strlen(names[i])))
			return false;
	return strcmp(path, "-") && (stat(path, &st) || S_ISREG(st.st_mode));
}

int output_not_source(const char *path, const char *source)
{
	struct stat a, b;

	if (!output_is_file(path) || stat(path, &a) || stat(source, &b) || a.st_dev != b.st_dev ||
		a.st_ino != b.st_ino)
		return 0;
	return error_set(-EINVAL, "'%s' is what is read: give what is written another name", path);
}

static int open_direct(struct output *o, int flags)
{
	o->fd = open(o->path, O_WRONLY | O_CLOEXEC | flags, 0666);
	return o->fd < 0 ? cannot_write(o, -errno) : 0;
}

/* The mode the file has, or would get from open(): mkostemp's 0600 would surprise. */
static mode_t wanted_mode(const char *path)
{
	struct stat st;
	mode_t mask;

	if (!stat(path, &st))
		return st.st_mode & 0777;
	mask = umask(0);
	umask(mask);
	return 0666 & ~mask;
}

/* A link is followed: what it names is replaced, not the link. */
static int open_temporary(struct output *o)
{
	char *resolved = realpath(o->path, NULL);
	const char *slash;
	int length, error;

	o->target = resolved ? resolved : strdup(o->path);
	if (!o->target)
		return cannot_write(o, -ENOMEM);
	slash = strrchr(o->target, '/');
	length = slash ? (int)(slash - o->target + 1) : 0;
	if (asprintf(&o->temporary, "%.*s.xpuprof.XXXXXX", length, o->target) < 0) {
		o->temporary = NULL;
		return cannot_write(o, -ENOMEM);
	}
	o->fd = mkostemp(o->temporary, O_CLOEXEC);
	if (o->fd >= 0) {
		/* When this fails the file stays private, and is still written. */
		(void)fchmod(o->fd, wanted_mode(o->target));
		return 0;
	}
	error = -errno;
	free(o->temporary);
	o->temporary = NULL;
	if (!access(o->path, W_OK))
		return open_direct(o, O_TRUNC);
	return cannot_write(o, error);
}

int output_open(struct output **ret, const char *path)
{
	struct output *o = malloc(sizeof(*o));
	int error;

	if (!o)
		return error_errno(-ENOMEM, "cannot write '%s'", path);
	memset(o, 0, offsetof(struct output, buffer));
	o->fd = -1;
	o->path = strdup(strcmp(path, "-") ? path : "standard output");
	if (!o->path) {
		free(o);
		return error_errno(-ENOMEM, "cannot write '%s'", path);
	}
	if (!strcmp(path, "-") || !strcmp(path, "/dev/stdout"))
		error = (o->fd = dup(STDOUT_FILENO)) < 0 ? cannot_write(o, -errno) : 0;
	else if (!output_is_file(path))
		error = open_direct(o, 0);
	else
		error = open_temporary(o);
	if (error) {
		output_abort(o);
		return error;
	}
	*ret = o;
	return 0;
}

static void release(struct output *o)
{
	if (o->fd >= 0)
		close(o->fd);
	free(o->path);
	free(o->target);
	free(o->temporary);
	free(o);
}

void output_abort(struct output *o)
{
	if (!o)
		return;
	if (o->temporary)
		unlink(o->temporary);
	release(o);
}

static void flush(struct output *o)
{
	int error;

	if (!o->error) {
		error = io_write_all(o->fd, o->buffer, o->filled);
		if (error)
			o->error = cannot_write(o, error);
	}
	o->filled = 0;
}

int output_commit(struct output *o)
{
	int error;

	flush(o);
	if (close(o->fd) && !o->error)
		o->error = cannot_write(o, -errno);
	o->fd = -1;
	if (!o->error && o->temporary && rename(o->temporary, o->target))
		o->error = cannot_write(o, -errno);
	error = o->error;
	if (error)
		output_abort(o);
	else
		release(o);
	return error;
}

int output_error(const struct output *o)
{
	return o->error;
}

void output_write(struct output *o, const void *data, size_t size)
{
	const char *p = data;

	while (size) {
		size_t part = BUFFER_BYTES - o->filled;

		if (part > size)
			part = size;
		memcpy(o->buffer + o->filled, p, part);
		o->filled += part;
		p += part;
		size -= part;
		if (o->filled == BUFFER_BYTES)
			flush(o);
	}
}

void output_puts(struct output *o, const char *text)
{
	output_write(o, text, strlen(text));
}

void output_putc(struct output *o, char c)
{
	o->buffer[o->filled++] = c;
	if (o->filled == BUFFER_BYTES)
		flush(o);
}

void output_u64(struct output *o, uint64_t value)
{
	char digits[20];
	size_t i = sizeof(digits);

	do {
		digits[--i] = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	output_write(o, digits + i, sizeof(digits) - i);
}

void output_us(struct output *o, uint64_t ns)
{
	unsigned int rest = (unsigned int)(ns % 1000);
	char decimals[4] = {'.', (char)('0' + rest / 100), (char)('0' + rest / 10 % 10),
		(char)('0' + rest % 10)};

	output_u64(o, ns / 1000);
	output_write(o, decimals, sizeof(decimals));
}

void output_printf(struct output *o, const char *format, ...)
{
	char small[512], *text = small;
	va_list args, again;
	int length;

	va_start(args, format);
	va_copy(again, args);
	length = vsnprintf(small, sizeof(small), format, args);
	if (length >= (int)sizeof(small) && vasprintf(&text, format, again) < 0)
		length = -1;
	va_end(again);
	va_end(args);
	if (length < 0) {
		o->error = o->error ? o->error : cannot_write(o, -ENOMEM);
		return;
	}
	output_write(o, text, (size_t)length);
	if (text != small)
		free(text);
}
