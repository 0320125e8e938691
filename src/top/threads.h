/* SPDX-License-Identifier: MIT */
/*
 * What each thread of a process did in a short recording, as text: the stack on which most of its
 * elapsed time was (view/wall/), outermost function last, as in a debugger.
 *
 *	thread 4711 python3: waiting, 100 % of 0.3 s
 *	    [waiting: lock]
 *	    lock_here (program.py)
 *	    ...
 */
#pragma once

#include <stdint.h>

#include "base/buf.h"

/* Appends it: 0 or -errno with error_text; -ENOENT: there is nothing of this process. */
int threads_text(const char *path, uint32_t pid, struct buf *out);
