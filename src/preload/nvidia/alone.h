/* SPDX-License-Identifier: MIT */
/* Programs that are kernels of their own: they are launched once in each context, in a stream of
 * ours, from our thread. */
#pragma once

#include <stdbool.h>

struct arena;

/* Whether the plan has any. */
bool alone_is_wanted(void);
/* Launches them where that has not been done. With the lock of the arenas, and the arena's
 * context. */
void alone_run(struct arena *a);
/* So too: waits until they have ended, whose loops are bounded, and gives back what they took. */
void alone_end(struct arena *a);
