/* SPDX-License-Identifier: MIT */
/* Our own programs for GPUs, each an object file that is part of xpuprof: one NAME.bpf.c here, and
 * one row in tools.c. A build without clang for eBPF has none. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct ebpf_tool {
	const char *name, *summary;
	/* What it counts, where its figures would mean something else if its programs ran in other
	 * threads: "warps", "threads"; NULL: they do not. */
	const char *counts;
	const uint8_t *start, *end; /* its object file */
};

/* The n-th, in the order of the table; NULL past the last. */
const struct ebpf_tool *ebpf_tool(size_t n);
const struct ebpf_tool *ebpf_tool_named(const char *name);
