// SPDX-License-Identifier: MIT
/* On which multiprocessor, and in which slot of it, threads ran. */
#include "ebpf/tools/common.h"

struct slot {
	__u32 sm, warp;
};

/* Each multiprocessor has its own copy, and puts only its own slots there. */
TOOL_MAP(threads, BPF_MAP_TYPE_HASH, 256, struct slot, __u64);

SEC("gpu/entry:*")
int enter(void *ctx)
{
	struct slot slot = {.sm = gpu_sm(), .warp = gpu_warp_slot()};
	__u64 none = 0, *sum = bpf_map_lookup_elem(&threads, &slot);

	if (!sum) {
		bpf_map_update_elem(&threads, &slot, &none, BPF_NOEXIST);
		sum = bpf_map_lookup_elem(&threads, &slot);
	}
	if (sum)
		__sync_fetch_and_add(sum, gpu_lanes());
	return 0;
}
