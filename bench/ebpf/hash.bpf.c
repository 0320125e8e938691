// SPDX-License-Identifier: MIT
/* Threads, counted in a hash by multiprocessor. */
#include "ebpf/tools/common.h"

TOOL_MAP(threads, BPF_MAP_TYPE_HASH, 1024, __u32, __u64);

SEC("gpu/entry:*")
int enter(void *ctx)
{
	__u32 sm = (__u32)gpu_sm();
	__u64 none = 0, *sum = bpf_map_lookup_elem(&threads, &sm);

	if (!sum) {
		bpf_map_update_elem(&threads, &sm, &none, BPF_NOEXIST);
		sum = bpf_map_lookup_elem(&threads, &sm);
	}
	if (sum)
		__sync_fetch_and_add(sum, gpu_lanes());
	return 0;
}
