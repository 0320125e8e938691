// SPDX-License-Identifier: MIT
#include "gpu/amd/tracer.h"

#define NAME(number, kind, name, ...) [number] = #name,
// clang-format off
static const char *const call_names[AMD_CALL_NUMBERS] = {AMD_CALLS(NAME)};
// clang-format on

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
};
