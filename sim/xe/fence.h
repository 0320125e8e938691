/* SPDX-License-Identifier: MIT */
#pragma once

#include "uapi.h"

/* Waits for a value in the program's memory: 0, -ETIME or another negative error. */
int fence_wait(const struct xe_wait *w);

/* Writes those of syncs that are fences in the program's memory. */
int fence_signal(const struct xe_sync *syncs, uint32_t count);
