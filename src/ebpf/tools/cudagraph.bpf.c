// SPDX-License-Identifier: MIT
/* How often each kernel ran, and how long the first thread of each run was in it, replays of graphs
 * included. */
#include "ebpf/tools/common.h"

struct runs {
	__u64 count, nanoseconds;
};

TOOL_MAP(runs, BPF_MAP_TYPE_HASH, 1024, __u64, struct runs);

SEC("gpu/entry:*")
__u64 enter(void *ctx)
{
	return gpu_globaltimer();
}

SEC("gpu/exit:*")
int leave(void *ctx)
{
	__u64 kernel = gpu_kernel(), time = gpu_globaltimer() - gpu_cookie();
	struct runs none = {}, *sum;

	if (gpu_block_number() || !is_first_of_block())
		return 0;
	sum = bpf_map_lookup_elem(&runs, &kernel);
	if (!sum) {
		bpf_map_update_elem(&runs, &kernel, &none, BPF_NOEXIST);
		sum = bpf_map_lookup_elem(&runs, &kernel);
	}
	if (!sum)
		return 0;
	__sync_fetch_and_add(&sum->count, 1);
	__sync_fetch_and_add(&sum->nanoseconds, time);
	return 0;
}
