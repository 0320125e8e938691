/* SPDX-License-Identifier: MIT */
/* The processes that run now, as /proc shows them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Calls visit for each, until one call returns something else than 0: that, or -errno with
 * error_text. */
int running_each(int (*visit)(void *context, uint32_t pid), void *context);
/* So too, for each thread of the process. */
int running_each_thread(uint32_t pid, int (*visit)(void *context, uint32_t tid), void *context);
/* Its parent, or 0 when it is gone. */
uint32_t running_parent(uint32_t pid);
/* False also when it has ended and nobody has reaped it. */
bool running_is_alive(uint32_t pid);
