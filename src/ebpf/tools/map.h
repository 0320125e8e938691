/* SPDX-License-Identifier: MIT */
/* A map of a program for kernels. */
#pragma once

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "ebpf/tools/xpuprof_gpu.h"

#define TOOL_MAP(name, type_, entries, key_type, value_type)                                       \
	struct {                                                                                   \
		__uint(type, type_);                                                               \
		__uint(max_entries, entries);                                                      \
		__type(key, key_type);                                                             \
		__type(value, value_type);                                                         \
	} name SEC(".maps")
