// SPDX-License-Identifier: MIT
/*
 * One row a reason (stalls.h).
 *
 * Sources. The reasons and their order in records: Intel's record layouts in the documentation of
 * Linux's xe driver and of iaprof. What each means: descriptions that Intel's Level Zero driver
 * gives to the metrics of its group EuStallSampling; "tdr" has none there.
 */
#include "vendor/intel/stalls.h"

#include <stddef.h>

#include "vendor/intel/intel.h"

static const char *const prefixes[] = {INTEL_STALL_PREFIX, NULL};

#define REASON(number, name, words, class, issuing) [number] = {#name, words, class, issuing},
static const struct stall_reason reasons[] = {INTEL_STALLS(REASON){NULL}};

const struct stall_names intel_stalls = {.prefixes = prefixes, .reasons = reasons};
