// SPDX-License-Identifier: MIT
/* How long threads are in a kernel: a histogram, by powers of 2 of nanoseconds. */
#include "ebpf/tools/common.h"

TOOL_MAP(nanoseconds, BPF_MAP_TYPE_ARRAY, BUCKETS, __u32, __u64);

SEC("gpu/entry:*")
__u64 enter(void *ctx)
{
	return gpu_globaltimer();
}

SEC("gpu/exit:*")
int leave(void *ctx)
{
	add_to(&nanoseconds, gpu_log2(gpu_globaltimer() - gpu_cookie()), gpu_lanes());
	return 0;
}
