// SPDX-License-Identifier: MIT
/* How many lanes of a warp are together when it accesses memory: of 32, few are divergence. */
#include "ebpf/tools/common.h"

TOOL_MAP(active_lanes, BPF_MAP_TYPE_ARRAY, 33, __u32, __u64);

SEC("gpu/mem:*")
int access(void *ctx)
{
	add_to(&active_lanes, gpu_lanes(), 1);
	return 0;
}
