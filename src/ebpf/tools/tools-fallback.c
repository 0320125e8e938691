// SPDX-License-Identifier: MIT
/* For builds without clang for eBPF, bpftool or libbpf. */
#include "ebpf/tools/tools.h"

const struct ebpf_tool *ebpf_tool(size_t n)
{
	return NULL;
}

const struct ebpf_tool *ebpf_tool_named(const char *name)
{
	return NULL;
}
