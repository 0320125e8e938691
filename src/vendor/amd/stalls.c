// SPDX-License-Identifier: MIT
/*
 * One row a reason, in the order of their numbers, behind the two that are ours.
 *
 * Sources. The names: those of rocprofiler-sdk's enumeration of reasons for not issuing an
 * instruction (pc_sampling.h), in small letters; what each means: the comments there. Samples by
 * interrupts of the host have no reason.
 */
#include <stddef.h>

#include "vendor/amd/stalls.h"

static const char *const prefixes[] = {AMD_STALL_PREFIX, NULL};

#define ROW(name, words, class, issuing) {#name, words, class, issuing},
static const struct stall_reason reasons[] = {
	// clang-format off
	AMD_STALLS(ROW)
	{NULL},
	// clang-format on
};
#undef ROW

const struct stall_names amd_stalls = {
	.prefixes = prefixes,
	.reasons = reasons,
	.disassembler = "llvm-objdump (package llvm, or ROCm's; $XPUPROF_LLVM_OBJDUMP)",
	.sample = "a sample is one wave, of the launch that it names: shares are of waves, and a "
		  "moment with more of them may weigh more",
};
