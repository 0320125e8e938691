/* SPDX-License-Identifier: MIT */
/*
 * The reasons for which threads of Intel GPUs are sampled where they are, by our own numbers: the
 * hardware has no names for them, and the kernel's uAPI none either. A profile has the name with
 * the prefix INTEL_STALL_PREFIX.
 *
 *	REASON(number, name, words, class, whether it issues)
 */
#pragma once

#define INTEL_STALL_PREFIX  "eu_stall_"
#define INTEL_STALL_REASONS 10

#define INTEL_STALLS(REASON)                                                                       \
	REASON(0, active, "issuing an instruction", STALL_ISSUING, true)                           \
	REASON(1, other, "another reason", STALL_OTHER, false)                                     \
	REASON(2, control, "waiting for the target of a branch", STALL_CONTROL, false)             \
	REASON(3, pipestall, "unit that computes is busy", STALL_MATH, false)                      \
	REASON(4, send, "message cannot be sent: its unit or queue is busy", STALL_MEMORY, false)  \
	REASON(5, dist_acc, "waiting for an earlier instruction or its accumulator", STALL_MATH,   \
		false)                                                                             \
	REASON(6, sbid, "waiting for the answer to a message: memory, as a rule", STALL_MEMORY,    \
		false)                                                                             \
	REASON(7, sync, "waiting at a barrier or fence", STALL_SYNC, false)                        \
	REASON(8, inst_fetch, "waiting for its next instruction to be fetched", STALL_FETCH,       \
		false)                                                                             \
	REASON(9, tdr, "waiting for a thread to be dispatched or to end", STALL_OTHER, false)
