// SPDX-License-Identifier: MIT
/* Nanoseconds in kernels, in one sum. */
#include "ebpf/tools/common.h"

TOOL_MAP(nanoseconds, BPF_MAP_TYPE_ARRAY, 1, __u32, __u64);

SEC("gpu/entry:*")
__u64 enter(void *ctx)
{
	return gpu_globaltimer();
}

SEC("gpu/exit:*")
int leave(void *ctx)
{
	add_to(&nanoseconds, 0, gpu_globaltimer() - gpu_cookie());
	return 0;
}
