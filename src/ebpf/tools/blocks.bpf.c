// SPDX-License-Identifier: MIT
/* Each block: when its first thread entered and left, and on which multiprocessor. Other warps
 * of it may have been there before and after that. */
#include "ebpf/tools/common.h"

struct block {
	__u64 start, end; /* nanoseconds */
	__u64 number;	  /* in the grid */
	__u64 kernel;	  /* hash of its name */
	__u32 sm;
	__u32 unused;
};

TOOL_MAP(blocks, MAP_GPU_RING, 65536, __u32, struct block);

SEC("gpu/entry:*")
__u64 enter(void *ctx)
{
	return gpu_globaltimer();
}

SEC("gpu/exit:*")
int leave(void *ctx)
{
	struct block b = {};

	if (!is_first_of_block())
		return 0;
	b.start = gpu_cookie();
	b.end = gpu_globaltimer();
	b.number = gpu_block_number();
	b.kernel = gpu_kernel();
	b.sm = gpu_sm();
	bpf_perf_event_output(0, &blocks, 0, &b, sizeof(b));
	return 0;
}
