// SPDX-License-Identifier: MIT
/* When the first block of each launch began: a recording knows when it was asked for. */
#include "ebpf/tools/common.h"

struct start {
	__u64 time;   /* nanoseconds */
	__u64 kernel; /* hash of its name */
};

TOOL_MAP(starts, MAP_GPU_RING, 65536, __u32, struct start);

SEC("gpu/entry:*")
int enter(void *ctx)
{
	struct start start = {};

	if (gpu_block_number() || !is_first_of_block())
		return 0;
	start.time = gpu_globaltimer();
	start.kernel = gpu_kernel();
	bpf_perf_event_output(0, &starts, 0, &start, sizeof(start));
	return 0;
}
