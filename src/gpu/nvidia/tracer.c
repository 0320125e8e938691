// SPDX-License-Identifier: MIT
#include "gpu/nvidia/tracer.h"

#include "vendor/nvidia/environment.h"

/* The numbers of both domains are below CUDA_CALL_NUMBERS. */
#define AT(domain, id)					(domain) * CUDA_CALL_NUMBERS + (id)
#define RUNTIME(id, kind, name, version, first, second) [AT(CUDA_RUNTIME, id)] = #name,
#define DRIVER(id, kind, name, first, second)		[AT(CUDA_DRIVER, id)] = #name,
// clang-format off
const char *const tracer_call_names[TRACER_CALLS] = {
	CUDA_RUNTIME_CALLS(RUNTIME) CUDA_DRIVER_CALLS(DRIVER)};
#undef RUNTIME
#undef DRIVER

uint32_t tracer_call_index(uint32_t call)
{
	uint32_t domain = CUDA_CALL_DOMAIN(call), number = CUDA_CALL_NUMBER(call);

	return number < CUDA_CALL_NUMBERS && domain <= CUDA_RUNTIME ? AT(domain, number) : TRACER_CALLS;
}

/* Before CUDA 13 the API's number identifies the major release only, 12. */
void tracer_describe(const struct wire_tracer *t, struct buf *b)
{
	if (t->api_version >= 100000)
		buf_printf(b, "%u.%u", t->api_version / 10000, t->api_version / 100 % 100);
	else
		buf_puts(b, "12");
	buf_printf(b, " (API %u, driver for CUDA %u.%u) ", t->api_version, t->driver_version / 1000,
		t->driver_version % 1000 / 10);
}

const char *const tracer_stalls_refusals[WIRE_STALLS_REFUSALS] = {
	[WIRE_STALLS_RIGHTS] =
		"the driver lets only administrators sample GPU instructions: run as root, or set "
		"NVreg_RestrictProfilingToAdminUsers=0 (see 'xpuprof doctor')",
	[WIRE_STALLS_DEVICE] =
		"the GPU or its driver cannot sample instructions: use another GPU, outside of "
		"confidential computing, WSL and shared virtual GPUs, or record without --stalls",
	[WIRE_STALLS_BUSY] =
		"the GPU's instructions are being sampled by another profiler or process: end that",
	[WIRE_STALLS_MEMORY] =
		"there was no room for samples of GPU instructions: use a longer period "
		"(--stalls=PERIOD)",
	[WIRE_STALLS_NO_FUNCTION] =
		"this CUPTI cannot sample instructions: use that of CUDA 12 or later",
	[WIRE_STALLS_OTHER] =
		"CUPTI refuses to sample GPU instructions: try a newer driver and CUPTI "
		"('xpuprof doctor' shows which are in use)",
	[WIRE_STALLS_DISPLACED] = "another process or profiler has begun to sample the GPU's "
			      "instructions, which ended ours: "
			      "let only one process use a GPU while it is sampled",
	[WIRE_STALLS_CONTEXTS] =
		"a process had more GPU contexts than can be sampled at once (64): use fewer",
	[WIRE_STALLS_LATE] = "a GPU context ended without its last instruction samples, as CUPTI "
			     "was busy: use a longer "
			     "period (--stalls=PERIOD)",
	[WIRE_STALLS_CONTEXT] =
		"a process had more than one context on a GPU, which samples the instructions of "
		"one at a time: only those of the first were sampled",
	[WIRE_STALLS_PROCESS] =
		"another process samples the GPU's instructions, or is armed for "
		"that (" NVIDIA_ARMED_VARIABLE "), and only one can at a time: record one alone to "
		"have its samples",
	[WIRE_STALLS_STRANGER] =
		"they were sampled, though CUPTI ends in one of two processes that do so at once: "
		"another user claims to sample the GPU's instructions",
	[WIRE_STALLS_OVERRUN] =
		TRACER_STALLS_BEHIND ": its memory "
		"was full, and of what ran later there are none",
	[WIRE_STALLS_UNFETCHED] =
		TRACER_STALLS_BEHIND ": it had more when "
		"the recording ended",
	[WIRE_STALLS_SEVERAL] =
		"a program that ran already used more than one GPU context, and instructions of "
		"such a one can be sampled only with one: start it with 'xpuprof record --stalls -- "
		"COMMAND'",
	[WIRE_STALLS_EARLIER] =
		"instructions of a program that ran already were not sampled, as a thread may have "
		"been in a call of the driver since before the recording: record for longer",
	[WIRE_STALLS_INSIDE] =
		"instructions of a program that ran already were not sampled, as one of its threads "
		"always was in a call of the driver: record for longer, or start it with 'xpuprof "
		"record --stalls -- COMMAND'",
	[WIRE_STALLS_NAMELESS] =
		"instructions of functions that a program has in CUDA graphs were sampled without "
		"names, as CUPTI has none of what runs in a graph before it samples: start it with "
		"'xpuprof record --stalls -- COMMAND', or prepared and with " NVIDIA_ARMED_VARIABLE
		"=1",
};
// clang-format on

const struct injected_api nvidia_api = {TRACER_API};
