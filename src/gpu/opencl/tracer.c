// SPDX-License-Identifier: MIT
#include "gpu/opencl/tracer.h"

#define NAME(number, kind, name) [number] = #name,
// clang-format off
static const char *const call_names[OPENCL_CALL_NUMBERS] = {OPENCL_CALLS(NAME)};
// clang-format on

static uint32_t call_index(uint32_t call)
{
	return call;
}

/* The path is the implementation's own name and version, once one is used. */
static void describe(const struct wire_tracer *t, struct buf *b)
{
	if (t->path_size)
		buf_puts(b, "OpenCL layer over ");
}

const struct injected_api opencl_api = {
	.tracer = "the OpenCL layer",
	.call_names = call_names,
	.call_count = OPENCL_CALL_NUMBERS,
	.call_index = call_index,
	.describe_tracer = describe,
	.no_stalls = "OpenCL has no samples of instructions",
};
