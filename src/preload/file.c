// SPDX-License-Identifier: MIT
#include "preload/file.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BYTES_MAX (1l << 30)

static bool read_all(int fd, struct buf *ret)
{
	struct stat st;
	size_t end;
	ssize_t n;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size >= BYTES_MAX ||
		!buf_reserve(ret, (size_t)st.st_size))
		return false;
	end = ret->size + (size_t)st.st_size;
	while ((n = read(fd, ret->data + ret->size, end - ret->size)) > 0)
		ret->size += (size_t)n;
	return !n;
}

bool file_read(const char *path, size_t zeros, struct buf *ret)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	bool is_read = fd >= 0 && read_all(fd, ret) && buf_reserve(ret, zeros);

	if (fd >= 0)
		close(fd);
	if (is_read && zeros)
		memset(ret->data + ret->size, 0, zeros);
	return is_read;
}

bool file_write(const char *path, const struct buf *bytes)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	size_t done = 0;
	ssize_t n = 1;

	if (fd < 0)
		return false;
	while (done < bytes->size && (n = write(fd, bytes->data + done, bytes->size - done)) > 0)
		done += (size_t)n;
	return !close(fd) && done == bytes->size;
}
