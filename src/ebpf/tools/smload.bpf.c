// SPDX-License-Identifier: MIT
/* What each multiprocessor had to do: threads and warps, and how long threads were in kernels
 * there. Warps are counted where they enter, together: they may leave in parts. */
#include "ebpf/tools/common.h"

enum { THREADS, WARPS, THREAD_NANOSECONDS, SUMS };

TOOL_MAP(load, BPF_MAP_TYPE_PERCPU_ARRAY, SUMS, __u32, __u64);

SEC("gpu/entry:*")
__u64 enter(void *ctx)
{
	add_to(&load, WARPS, 1);
	return gpu_globaltimer();
}

SEC("gpu/exit:*")
int leave(void *ctx)
{
	__u64 time = gpu_globaltimer() - gpu_cookie(), lanes = gpu_lanes();

	add_to(&load, THREADS, lanes);
	add_to(&load, THREAD_NANOSECONDS, time * lanes);
	return 0;
}
