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
#include "base/place.h"

#define BUFFER_BYTES ((size_t)256 << 10)

struct output {
	int fd;
	int error;
	char *path; /* as the user wrote it, for messages */
	struct place target, temporary;
	bool replaces; /* the temporary file takes the target's place in the end */
	size_t filled;
	char buffer[BUFFER_BYTES];
};

static int cannot_write(const struct output *o, int code)
{
	return place_error(o->target.user, code, "write", o->path);
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

/* Pipes and devices have nothing to cut off. */
static int open_present(struct output *o, const struct stat *st)
{
	int fd = place_open_present(&o->target, st, O_WRONLY);

	if (fd < 0)
		return fd;
	o->fd = fd;
	return S_ISREG(st->st_mode) && ftruncate(fd, 0) ? -errno : 0;
}

/* With the mode of the file that it replaces. */
static int open_temporary(struct output *o, const struct stat *present)
{
	int fd = place_temporary(&o->target, 0666, &o->temporary);

	if (fd < 0)
		return present && !open_present(o, present) ? 0 : fd;
	o->fd = fd;
	o->replaces = true;
	/* When this fails the file is still written. */
	if (present)
		(void)fchmod(fd, present->st_mode & 0777);
	return 0;
}

static int open_at_place(struct output *o)
{
	struct stat st;
	int error = place_stat(&o->target, &st);

	if (error == -ENOENT)
		return open_temporary(o, NULL);
	if (error)
		return error;
	return S_ISREG(st.st_mode) && !o->target.opened_by_name ? open_temporary(o, &st)
								: open_present(o, &st);
}

static int open_again(struct output *o, int descriptor)
{
	o->fd = place_reopen(descriptor);
	return o->fd < 0 ? o->fd : 0;
}

static int open_output(struct output *o, const struct user *user)
{
	int descriptor = place_descriptor(o->path), error;

	if (!strcmp(o->path, "-")) {
		free(o->path);
		o->path = strdup("standard output");
		descriptor = o->path ? STDOUT_FILENO : -1;
	}
	if (!o->path)
		return error_memory(NULL);
	error = descriptor < 0 ? place_find(&o->target, user, o->path, "write") : 0;
	if (error)
		return error;
	error = descriptor < 0 ? open_at_place(o) : open_again(o, descriptor);
	return error ? cannot_write(o, error) : 0;
}

int output_open(struct output **ret, const struct user *user, const char *path)
{
	struct output *o = malloc(sizeof(*o));
	int error;

	if (!o)
		return error_memory(NULL);
	memset(o, 0, offsetof(struct output, buffer));
	o->fd = -1;
	o->target = o->temporary = PLACE_NONE;
	o->path = strdup(path);
	error = o->path ? open_output(o, user) : error_memory(NULL);
	if (error)
		output_abort(o);
	else
		*ret = o;
	return error;
}

static void release(struct output *o)
{
	if (o->fd >= 0)
		close(o->fd);
	place_release(&o->target); /* which the temporary shares */
	free(o->path);
	free(o);
}

void output_abort(struct output *o)
{
	if (!o)
		return;
	if (o->replaces)
		(void)place_remove(&o->temporary);
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
	error = o->error;
	if (!error && o->replaces)
		error = place_rename(&o->temporary, &o->target);
	if (error && !o->error)
		o->error = cannot_write(o, error);
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
