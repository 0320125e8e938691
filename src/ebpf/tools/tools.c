// SPDX-License-Identifier: MIT
/* The assembler reads the object files, from where the build has put them. */
#include "ebpf/tools/tools.h"

#include <string.h>

#define FOR_EACH_TOOL(X)                                                                           \
	X(blocktime, NULL, "how long threads are in kernels, as a histogram")                      \
	X(blocks, NULL, "start, end and multiprocessor of each block's first thread")              \
	X(smload, "warps", "threads, their warps and their time on each multiprocessor")           \
	X(coalesce, "warps", "lines of 128 bytes that warps access, by place in the code")         \
	X(divergence, "warps", "lanes of a warp that access memory together")                      \
	X(memtrace, NULL, "loads, stores and atomics, and their bytes")                            \
	X(memheat, NULL, "bytes accessed, by time and page of each warp's lowest lane")            \
	X(threadhist, "threads", "how often each thread of a grid ran")                            \
	X(threadscheduling, NULL, "where on the GPU threads ran")                                  \
	X(kernelretsnoop, "threads", "when each thread left a kernel")                             \
	X(kernel_trace, NULL, "when each launch began to run")                                     \
	X(launchlate, NULL,                                                                        \
		"when first blocks began, in recordings from the call that asked for them")        \
	X(cudagraph, NULL, "how often kernels ran, replays of graphs included")

#define EMBED(name, counts_, summary_)                                                             \
	__asm__(".section .rodata\n"                                                               \
		".balign 8\n"                                                                      \
		".hidden ebpf_tool_" #name "_start\n"                                              \
		".global ebpf_tool_" #name "_start\n"                                              \
		"ebpf_tool_" #name "_start:\n"                                                     \
		".incbin \"" EBPF_TOOLS "/" #name ".bpf.o\"\n"                                     \
		".hidden ebpf_tool_" #name "_end\n"                                                \
		".global ebpf_tool_" #name "_end\n"                                                \
		"ebpf_tool_" #name "_end:\n"                                                       \
		".byte 0\n"                                                                        \
		".previous\n");                                                                    \
	extern const uint8_t ebpf_tool_##name##_start[], ebpf_tool_##name##_end[];

FOR_EACH_TOOL(EMBED)

#define ROW(name, counts_, summary_)                                                               \
	{#name, summary_, counts_, ebpf_tool_##name##_start, ebpf_tool_##name##_end},

static const struct ebpf_tool tools[] = {FOR_EACH_TOOL(ROW)};

const struct ebpf_tool *ebpf_tool(size_t n)
{
	return n < sizeof(tools) / sizeof(tools[0]) ? &tools[n] : NULL;
}

const struct ebpf_tool *ebpf_tool_named(const char *name)
{
	for (size_t i = 0; i < sizeof(tools) / sizeof(tools[0]); i++)
		if (!strcmp(tools[i].name, name))
			return &tools[i];
	return NULL;
}
