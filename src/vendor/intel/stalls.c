// SPDX-License-Identifier: MIT
/*
 * One row a reason (stalls.h).
 *
 * What each means: the table in iaprof's header of its collector of EU stalls. "tdr" is not in it;
 * Intel's compute runtime calls that one PSDepStall, a pixel shader's dependency on order.
 */
#include "vendor/intel/stalls.h"

#include <stddef.h>

#include "vendor/intel/intel.h"

static const char *const prefixes[] = {INTEL_STALL_PREFIX, NULL};

#define REASON(number, name, words, class, issuing) [number] = {#name, words, class, issuing},
static const struct stall_reason reasons[] = {INTEL_STALLS(REASON){NULL}};

const struct stall_names intel_stalls = {
	.prefixes = prefixes,
	.reasons = reasons,
	.disassembler = "libiga64 (package libigc2; $XPUPROF_LIBIGA64)",
	.sample = "shares are of threads that the GPU saw where they are, as many as it says: "
		  "moments with more of them may weigh more",
};
