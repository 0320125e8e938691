/* SPDX-License-Identifier: MIT */
/*
 * Writes to a file from a thread of its own, so that the caller does not wait for a disk that
 * stalls until more than `limit_bytes` are queued. Data is written in order. After the first write
 * that fails nothing more is written, and every call returns that failure. A put of which a part
 * was written by then is cut off again where files can be cut: the file ends with a whole one.
 *
 * Owned by one thread, which alone calls these functions. The writing thread starts with the first
 * put and blocks all signals. If it cannot be created, put writes by itself.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct write_behind;

/* The descriptor stays the caller's, and is not to be closed before write_behind_free. 0 or
 * -ENOMEM. */
int write_behind_new(struct write_behind **ret, int fd, size_t limit_bytes);
/* Copies the data. 0, or -errno of this or an earlier write. */
int write_behind_put(struct write_behind *wb, const void *data, size_t size);
/* Until all of it is written: 0, or -errno of the first write that failed. */
int write_behind_wait(struct write_behind *wb);
/* Of whole puts, so far. */
uint64_t write_behind_written(struct write_behind *wb);
/* Writes what waits and ends the thread. NULL is fine. */
void write_behind_free(struct write_behind *wb);
