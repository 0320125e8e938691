// SPDX-License-Identifier: MIT
/*
 * One row a reason, in no order.
 *
 * Sources. The names: libnvperf_host of CUDA 13.0 has these, with either prefix (an H200 has 40: 20
 * of them, each also with the mark); gmma is only among its counters. What each means: "Warp Stall
 * Reasons" in the metrics reference of NVIDIA's Nsight Compute profiling guide. That counts with
 * the mark are part of those without it: CUPTI's documentation of CUpti_ActivityPCSampling3
 * (samples include latencySamples), and its sample output of PC sampling (long_scoreboard 42 times,
 * of them 39 not issued).
 */
#include <stddef.h>

#include "vendor/nvidia/nvidia.h"

static const char *const prefixes[] = {
	"smsp__pcsamp_warps_issue_stalled_",
	"smsp__pcsamp_warp_stall_",
	NULL,
};

// clang-format off
static const struct stall_reason reasons[] = {
	/* Loads by the texture path as well, which few kernels have today. */
	{"long_scoreboard", "waiting for a global or local memory load", STALL_MEMORY, false},
	{"short_scoreboard", "waiting for shared memory or a special function", STALL_MEMORY, false},
	{"lg_throttle", "queue of global and local memory accesses is full", STALL_MEMORY, false},
	{"mio_throttle", "queue of shared memory and special function accesses is full", STALL_MEMORY, false},
	{"tex_throttle", "queue of texture accesses is full", STALL_MEMORY, false},
	{"imc_miss", "waiting for constant memory that is not in its cache", STALL_MEMORY, false},
	{"drain", "at its exit, waiting for its memory stores", STALL_MEMORY, false},
	{"wait", "waiting out an instruction's fixed latency", STALL_MATH, false},
	{"math_pipe_throttle", "math unit is busy", STALL_MATH, false},
	{"gmma", "waiting for the tensor cores", STALL_MATH, false},
	{"dispatch_stall", "held back by the dispatch unit", STALL_MATH, false},
	{"barrier", "waiting for other warps of its block at a barrier", STALL_SYNC, false},
	{"membar", "waiting at a memory fence", STALL_SYNC, false},
	{"warpgroup_arrive", "waiting for its warpgroup (wgmma)", STALL_SYNC, false},
	{"no_instructions", "waiting for its next instruction to be fetched", STALL_FETCH, false},
	{"branch_resolving", "waiting for the target of a branch", STALL_CONTROL, false},
	{"sleeping", "asleep, or its threads yielded or blocked", STALL_CONTROL, false},
	{"selected", "issuing the instruction", STALL_ISSUING, true},
	{"not_selected", "ready, but another warp was issued", STALL_ISSUING, false},
	{"misc", "another reason", STALL_OTHER, false},
	{NULL},
};
// clang-format on

const struct stall_names nvidia_stalls = {
	.prefixes = prefixes,
	.latency_mark = "_not_issued",
	.reasons = reasons,
	.disassembler = "nvdisasm, of a CUDA toolkit (in $PATH, $CUDA_HOME or $XPUPROF_NVDISASM)",
	.sample = "shares are of time: a sample is one warp of an SM, however many run (hardware "
		  "counters add up warps)",
};
