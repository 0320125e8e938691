// SPDX-License-Identifier: MIT
/* How many loads, stores and atomics threads made, and of how many bytes. */
#include "ebpf/tools/common.h"

enum { LOADS, STORES, ATOMICS, KINDS };

TOOL_MAP(accesses, BPF_MAP_TYPE_ARRAY, KINDS, __u32, __u64);
TOOL_MAP(bytes, BPF_MAP_TYPE_ARRAY, KINDS, __u32, __u64);

SEC("gpu/mem:*")
int access(struct gpu_memory_context *ctx)
{
	__u32 kind = ctx->kind & GPU_ATOMIC ? ATOMICS : ctx->kind & GPU_WRITES ? STORES : LOADS;
	__u64 lanes = gpu_lanes();

	add_to(&accesses, kind, lanes);
	add_to(&bytes, kind, lanes * ctx->size);
	return 0;
}
