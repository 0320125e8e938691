/* SPDX-License-Identifier: MIT */
/* Whole reads and writes over file descriptors: short transfers and EINTR are dealt with here. */
#pragma once

#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/buf.h"

/* Writes all of it: 0, or -errno with *ret_written less than `size`. -EINTR: nobody has read from a
 * pipe for a second, and a signal that is blocked wants the end. */
int io_write(int fd, const void *data, size_t size, size_t *ret_written);
/* The same: 0 or -errno. */
int io_write_all(int fd, const void *data, size_t size);
/* Reads until `size` bytes or the end: bytes read, or -errno. */
ssize_t io_read_full(int fd, void *data, size_t size);
/* As io_read_full at an offset; the file position does not move. */
ssize_t io_pread_full(int fd, void *data, size_t size, off_t offset);
/* Opens a file to read: a descriptor, with what fstat says of it, or -errno. To open anything but a
 * regular file (a device, a pipe) may have effects: it is not opened, -EACCES. */
int io_open_regular(const char *path, struct stat *ret);
/* Likewise what a descriptor made with O_PATH stands for; that is closed in any case. */
int io_open_named(int named, struct stat *ret);
/* Appends a whole file (also of /proc, whose size is unknown), at most `limit` bytes of it, to `b`:
 * 0 or -errno (-EFBIG when there is more), without error text. */
int io_read_file(const char *path, size_t limit, struct buf *b);
/* So too, what is left of an open file. */
int io_read_rest(int fd, size_t limit, struct buf *b);
