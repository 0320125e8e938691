// SPDX-License-Identifier: MIT
#include "gpu/levelzero/tracer.h"

#define NAME(number, kind, name, ...) [number] = "ze" #name,
// clang-format off
static const char *const call_names[LEVELZERO_CALL_NUMBERS] = {
	LEVELZERO_COMMANDS(NAME) LEVELZERO_EXECUTIONS(NAME) LEVELZERO_WAITS(NAME)};
// clang-format on

static uint32_t call_index(uint32_t call)
{
	return call;
}

/* The path is that of the loader. */
static void describe(const struct wire_tracer *t, struct buf *b)
{
	buf_puts(b, "Level Zero's tracing layer, ");
}

const struct injected_api levelzero_api = {
	.tracer = "Level Zero's tracing layer",
	.code_format = "zebin",
	.call_names = call_names,
	.call_count = LEVELZERO_CALL_NUMBERS,
	.call_index = call_index,
	.describe_tracer = describe,
	.entry = "xpuprof_join_levelzero",
};
