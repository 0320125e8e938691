// SPDX-License-Identifier: MIT
#include "gpu/amd/tracer.h"

#define NAME(number, kind, name, ...) [number] = #name,
// clang-format off
static const char *const call_names[AMD_CALL_NUMBERS] = {
	AMD_CALLS(NAME) AMD_HSA(NAME) AMD_HSA_EXTENSIONS(NAME)};
// clang-format on

#define VARIABLE "ROCPROFILER_PC_SAMPLING_BETA_ENABLED"

static const char *const refusals[WIRE_STALLS_REFUSALS] = {
	[WIRE_STALLS_RIGHTS] =
		"rocprofiler-sdk samples instructions only where " VARIABLE
		"=1 is set, and warns that it may hang the machine: set it if you accept that",
	[WIRE_STALLS_DEVICE] = "the GPU or its driver cannot sample instructions",
	[WIRE_STALLS_BUSY] =
		"instructions of another vendor's GPUs are sampled in the process, and "
		"only one's can be",
	[WIRE_STALLS_CONTEXT] =
		"rocprofiler-sdk refuses to sample GPU instructions, as it does where another tool "
		"in the process samples them: record without that",
	[WIRE_STALLS_MEMORY] = "there was no room for samples of GPU instructions",
	[WIRE_STALLS_NO_FUNCTION] = "rocprofiler-sdk is not known to sample instructions in this "
				    "version: use 1.0 or 1.1",
	[WIRE_STALLS_OTHER] = "rocprofiler-sdk refuses to sample GPU instructions",
};

static uint32_t call_index(uint32_t call)
{
	return call;
}

/* The version is 10000 * major + 100 * minor + patch. */
static void describe(const struct wire_tracer *t, struct buf *b)
{
	buf_printf(b, "rocprofiler-sdk %u.%u.%u, ", t->api_version / 10000,
		t->api_version / 100 % 100, t->api_version % 100);
}

const struct injected_api amd_api = {
	.tracer = "rocprofiler-sdk",
	.call_names = call_names,
	.call_count = AMD_CALL_NUMBERS,
	.call_index = call_index,
	.describe_tracer = describe,
	.code_format = "amdgpu",
	.stalls_refusals = refusals,
	.stalls_behind = "rocprofiler-sdk hands over fewer samples than it should",
};
