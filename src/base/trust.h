/* SPDX-License-Identifier: MIT */
/*
 * What may be loaded, run or believed by a process that has more rights than those who call it.
 *
 * A file is trusted when only root can change it or put another in its place: it and every folder
 * on the way to it, through all links, are root's and nobody else may write there. Then whoever
 * opens the path that is returned gets the file that was checked, however late: an unprivileged
 * user has nothing to swap. A folder like /tmp, where each may change only what is theirs, does
 * not count: a user can mount something over a folder of theirs, with files that look like root's.
 *
 * Any thread.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"

/* Whether our environment may be somebody's with fewer rights: we are root, or our file gave us
 * capabilities. */
bool trust_is_due(void);
/* Appends the path of a trusted file, without links: 0, -EPERM where somebody but root could change
 * it, -EINVAL where it is no regular file or the path is relative, or another -errno. No error
 * text. */
int trust_file(const char *path, struct buf *ret_path);
