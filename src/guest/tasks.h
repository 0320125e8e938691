/* SPDX-License-Identifier: MIT */
/* What the kernel says of a thread of this process. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* The beginning of one of its files in /proc/self/task, as text; false when it is not there: the
 * thread has ended. */
bool task_read(pid_t tid, const char *name, char *text, size_t size);
