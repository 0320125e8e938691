// SPDX-License-Identifier: MIT
/* How often each thread of a grid, by its number in it, left a kernel. */
#include "ebpf/tools/common.h"

TOOL_MAP(runs, MAP_THREAD_ARRAY, 1, __u32, __u64);

SEC("gpu/exit.thread:*")
int leave(void *ctx)
{
	__u32 key = 0;
	__u64 *count = bpf_map_lookup_elem(&runs, &key);

	if (count)
		*count += 1;
	return 0;
}
