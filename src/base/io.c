// SPDX-License-Identifier: MIT
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/user.h"

#define LOOK_EVERY_MS 50
#define PATIENCE_MS   1000 /* with a reader, once a signal wants the end */

/* What it writes to is as slow as whoever reads it. */
static bool has_reader(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && !S_ISREG(st.st_mode) && !S_ISBLK(st.st_mode);
}

/* In write() no signal of those that are blocked would end the waiting. */
static int wait_for_reader(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLOUT};

	for (int waited = 0; poll(&p, 1, LOOK_EVERY_MS) <= 0; waited += LOOK_EVERY_MS)
		if (waited >= PATIENCE_MS && user_signal_waits())
			return -EINTR;
	return 0;
}

int io_write(int fd, const void *data, size_t size, size_t *ret_written)
{
	bool reader = has_reader(fd);

	*ret_written = 0;
	while (*ret_written < size) {
		size_t part = size - *ret_written;
		int error = reader ? wait_for_reader(fd) : 0;
		ssize_t n;

		if (error)
			return error;
		/* A pipe that is ready has room for so much. */
		if (reader && part > PIPE_BUF)
			part = PIPE_BUF;
		n = write(fd, (const char *)data + *ret_written, part);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		*ret_written += (size_t)n;
	}
	return 0;
}

int io_write_all(int fd, const void *data, size_t size)
{
	size_t written;

	return io_write(fd, data, size, &written);
}

/* From where the file stands when `offset` is negative. */
static ssize_t read_full(int fd, void *data, size_t size, off_t offset)
{
	size_t done = 0;

	while (done < size) {
		char *at = (char *)data + done;
		ssize_t n = offset < 0 ? read(fd, at, size - done)
				       : pread(fd, at, size - done, offset + (off_t)done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

ssize_t io_read_full(int fd, void *data, size_t size)
{
	return read_full(fd, data, size, -1);
}

ssize_t io_pread_full(int fd, void *data, size_t size, off_t offset)
{
	return offset < 0 ? -EINVAL : read_full(fd, data, size, offset);
}

int io_read_rest(int fd, size_t limit, struct buf *b)
{
	char chunk[16384];
	size_t total = 0;
	ssize_t n;

	while ((n = io_read_full(fd, chunk, sizeof(chunk))) > 0) {
		total += (size_t)n;
		if (total > limit) {
			n = -EFBIG;
			break;
		}
		buf_append(b, chunk, (size_t)n);
	}
	if (n < 0)
		return (int)n;
	return b->failed ? -ENOMEM : 0;
}

int io_open_named(int named, struct stat *ret)
{
	int fd = -1, error = fstat(named, ret) ? -errno : S_ISREG(ret->st_mode) ? 0 : -EACCES;
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", named);
	if (!error)
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (!error && fd < 0)
		error = -errno;
	close(named);
	return error ?: fd;
}

int io_open_regular(const char *path, struct stat *ret)
{
	int named = open(path, O_PATH | O_CLOEXEC);

	return named < 0 ? -errno : io_open_named(named, ret);
}

int io_read_file(const char *path, size_t limit, struct buf *b)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), error;

	if (fd < 0)
		return -errno;
	error = io_read_rest(fd, limit, b);
	close(fd);
	return error;
}
