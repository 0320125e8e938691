/* SPDX-License-Identifier: MIT */
/*
 * Why waves of AMD's GPUs did not go on.
 *
 *	ROW(name, words, class, issuing)
 *
 * The first is of a wave that issued its instruction, the second of samples that say nothing of it;
 * from the third on they are rocprofiler-sdk's, by their numbers from 0.
 */
#pragma once

#include "vendor/stall_reason.h"

#define AMD_STALL_PREFIX "rocprofiler_pc_sampling_"

enum {
	AMD_STALL_ISSUED = 0,
	AMD_STALL_NO_REASON,
	AMD_STALL_FIRST, /* plus rocprofiler-sdk's number */
};

// clang-format off
#define AMD_STALLS(ROW) \
	ROW(issued, "issuing the instruction", STALL_ISSUING, true) \
	ROW(host_trap, "interrupted, for whatever reason it was there", STALL_OTHER, false) \
	ROW(none, "no reason given", STALL_OTHER, false) \
	ROW(no_instruction_available, "waiting for its next instruction to be fetched", STALL_FETCH, false) \
	ROW(alu_dependency, "waiting for the result of an arithmetic instruction", STALL_MATH, false) \
	ROW(waitcnt, "waiting for memory (s_waitcnt)", STALL_MEMORY, false) \
	ROW(internal_instruction, "executing an internal instruction", STALL_CONTROL, false) \
	ROW(barrier_wait, "waiting for other waves of its group at a barrier", STALL_SYNC, false) \
	ROW(arbiter_not_win, "ready, but another wave was issued", STALL_ISSUING, false) \
	ROW(arbiter_win_ex_stall, "issued, and pushed back by a busy unit", STALL_MATH, false) \
	ROW(other_wait, "another wait", STALL_OTHER, false) \
	ROW(sleep_wait, "asleep", STALL_CONTROL, false)
// clang-format on

extern const struct stall_names amd_stalls;
