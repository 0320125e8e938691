// SPDX-License-Identifier: MIT
/* When each thread left a kernel. */
#include "ebpf/tools/common.h"

struct thread_end {
	__u64 time; /* nanoseconds */
	__u64 block;
	__u32 x, y, z;
	__u32 sm;
};

TOOL_MAP(ends, MAP_GPU_RING, 1048576, __u32, struct thread_end);

SEC("gpu/exit.thread:*")
int leave(void *ctx)
{
	struct thread_end end = {};
	__u64 x, y, z;

	gpu_thread(&x, &y, &z);
	end.x = x;
	end.y = y;
	end.z = z;
	end.time = gpu_globaltimer();
	end.block = gpu_block_number();
	end.sm = gpu_sm();
	bpf_perf_event_output(0, &ends, 0, &end, sizeof(end));
	return 0;
}
