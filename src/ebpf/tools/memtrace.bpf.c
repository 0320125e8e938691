// SPDX-License-Identifier: MIT
/*
 * How many loads, stores and atomics threads made, and of how many bytes. Additions are what costs:
 * accesses are counted by their size, as nearly all have one of a few, and bytes follow from that.
 */
#include "ebpf/tools/common.h"

enum { LOADS, STORES, ATOMICS, KINDS };

#define SIZES  64
#define LARGER 0 /* its place is no size's */

/* For each kind accesses by their size, and behind those of all kinds the bytes of larger ones. */
TOOL_MAP(by_size, BPF_MAP_TYPE_ARRAY, KINDS *SIZES + KINDS, __u32, __u64);

SEC("gpu/mem:*")
int access(struct gpu_memory_context *ctx)
{
	__u32 kind = ctx->kind & GPU_ATOMIC ? ATOMICS : ctx->kind & GPU_WRITES ? STORES : LOADS;
	__u32 size = ctx->size;
	__u64 lanes = gpu_lanes();

	if (size < SIZES) {
		add_to(&by_size, kind * SIZES + size, lanes);
		return 0;
	}
	add_to(&by_size, kind * SIZES + LARGER, lanes);
	add_to(&by_size, KINDS * SIZES + kind, lanes * size);
	return 0;
}
