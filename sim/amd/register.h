/* SPDX-License-Identifier: MIT */
/* What the simulated runtimes do as rocprofiler-register does in the real ones. */
#pragma once

#include "tracer.h"

/* Where a tool is named, or there is one in the process, loads the simulated rocprofiler-sdk, which
 * asks tools what they want; aborts if it cannot. Without, nothing of *ret is set. */
void register_runtime(struct sim_amd_tracer *ret);
/* CLOCK_BOOTTIME. */
uint64_t own_clock(void);
