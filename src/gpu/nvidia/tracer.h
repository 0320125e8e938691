/* SPDX-License-Identifier: MIT */
/* CUDA with CUPTI, as its library inside of programs reports it. */
#pragma once

#include "gpu/injected/injected.h"
#include "vendor/nvidia/calls.h"

extern const struct injected_api nvidia_api;

/* An injected_api's functions and tables. */
#define TRACER_CALLS (3 * CUDA_CALL_NUMBERS)
extern const char *const tracer_call_names[TRACER_CALLS];
uint32_t tracer_call_index(uint32_t call);
void tracer_describe(const struct wire_tracer *t, struct buf *b);
extern const char *const tracer_stalls_refusals[WIRE_STALLS_REFUSALS];
#define TRACER_STALLS_BEHIND "samples of GPU instructions came faster than CUPTI hands them over"

/* As measured on an H200 with CUPTI 13.0 (docs/running-programs.md). */
#define TRACER_STAYS                                                                               \
	"CUPTI stays loaded (some 14 MiB of GPU memory, and some of the time of small graphs)"

/* What its records mean: members of an injected_api. */
#define TRACER_API                                                                                 \
	.tracer = "CUPTI", .code_format = "cubin", .call_names = tracer_call_names,                \
	.call_count = TRACER_CALLS, .call_index = tracer_call_index,                               \
	.describe_tracer = tracer_describe, .stalls_refusals = tracer_stalls_refusals,             \
	.stalls_behind = TRACER_STALLS_BEHIND, .entry = "xpuprof_join", .stays = TRACER_STAYS
