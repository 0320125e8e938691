/* SPDX-License-Identifier: MIT */
/* Whole files, in programs that are not ours. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/* Appends the bytes of a regular file, and so many zeros, which do not count. */
bool file_read(const char *path, size_t zeros, struct buf *ret);
/* Makes a file that was not there, only for its user. */
bool file_write(const char *path, const struct buf *bytes);
