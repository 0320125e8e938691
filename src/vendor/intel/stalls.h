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
	REASON(2, control, "waiting for a unit that branches", STALL_CONTROL, false)               \
	REASON(3, pipestall, "chosen, but the unit that computes cannot take it", STALL_MATH,      \
		false)                                                                             \
	REASON(4, send, "waiting for a unit that sends messages", STALL_MEMORY, false)             \
	REASON(5, dist_acc, "waiting for the result of an instruction just before", STALL_MATH,    \
		false)                                                                             \
	REASON(6, sbid, "waiting for the answer to a message: memory, as a rule", STALL_MEMORY,    \
		false)                                                                             \
	REASON(7, sync, "waiting for other threads: a barrier or fence", STALL_SYNC, false)        \
	REASON(8, inst_fetch, "waiting for its next instruction to be fetched", STALL_FETCH,       \
		false)                                                                             \
	REASON(9, tdr, "waiting for its turn among pixels: graphics only", STALL_OTHER, false)
