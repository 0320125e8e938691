// SPDX-License-Identifier: MIT
/* How often each thread of a grid, by its number in it, left a kernel. Kernels that run beside each
 * other have threads of the same numbers. */
#include "ebpf/tools/common.h"

TOOL_MAP(runs, MAP_THREAD_ARRAY, 1, __u32, __u64);

SEC("gpu/exit.thread:*")
int leave(void *ctx)
{
	__u32 key = 0;
	__u64 *count = bpf_map_lookup_elem(&runs, &key);

	if (count)
		__sync_fetch_and_add(count, 1);
	return 0;
}
