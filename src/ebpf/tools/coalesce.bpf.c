// SPDX-License-Identifier: MIT
/* How many lines of 128 bytes the accesses of warps touch, for each access in the code of a
 * kernel. */
#include "ebpf/tools/common.h"

struct place {
	__u64 kernel; /* hash of its name */
	__u32 insn;
	__u32 size; /* bytes that each lane accesses */
};

struct lines {
	__u64 accesses, lanes, lines;
};

TOOL_MAP(accesses, BPF_MAP_TYPE_HASH, 1024, struct place, struct lines);

SEC("gpu/mem:*")
int access(struct gpu_memory_context *ctx)
{
	struct place place = {.kernel = gpu_kernel(), .insn = ctx->insn, .size = ctx->size};
	struct lines none = {}, *sum = bpf_map_lookup_elem(&accesses, &place);

	if (!sum) {
		bpf_map_update_elem(&accesses, &place, &none, BPF_NOEXIST);
		sum = bpf_map_lookup_elem(&accesses, &place);
	}
	if (!sum)
		return 0;
	__sync_fetch_and_add(&sum->accesses, 1);
	__sync_fetch_and_add(&sum->lanes, gpu_lanes());
	__sync_fetch_and_add(&sum->lines, gpu_lines());
	return 0;
}
