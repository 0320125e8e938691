/* SPDX-License-Identifier: MIT */
/*
 * cuptiFinalize: takes CUPTI out of a program that goes on, if the user asks for it (`record
 * --finalize`) and it is known to do no harm.
 *
 * Where a graph was made, with CUPTI there, its next launch failed after cuptiFinalize ("unspecified
 * launch failure": CUPTI 13.0, three of three programs). So it is called only where we have seen
 * all of CUDA's time in this process, and no graph in it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "wire/wire.h"

/* CUPTI's number of cuDriverGetVersion, which no recording follows. */
#define FINALIZE_DRIVER_CALL 2

/* Before CUPTI is subscribed to. */
void finalize_begin(void);
/* A resource callback came, whether work is recorded or not; any thread. */
void finalize_on_resource(uint32_t id);
/* A callback of that call came; any thread. */
void finalize_on_driver_call(uint32_t site);
/* Our thread, when all that was recorded has been sent. */
enum wire_finalized finalize(void);
