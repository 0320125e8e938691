// SPDX-License-Identifier: MIT
/* Threads, counted. */
#include "ebpf/tools/common.h"

TOOL_MAP(threads, BPF_MAP_TYPE_ARRAY, 1, __u32, __u64);

SEC("gpu/entry:*")
int enter(void *ctx)
{
	add_to(&threads, 0, gpu_lanes());
	return 0;
}
