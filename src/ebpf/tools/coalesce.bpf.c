// SPDX-License-Identifier: MIT
/*
 * How many lines of 128 bytes the accesses of warps touch, for each access in the code of a kernel.
 * Additions are what costs, so that the most frequent access, of all 32 lanes to one line, makes
 * one: the others are of what is different (probe/coalescing.h).
 */
#include "ebpf/tools/common.h"

#define LANES 32

struct lines {
	__u64 accesses, lanes_less, lines_more;
};

TOOL_MAP(accesses, GPU_MAP_OF_ACCESSES, 1, struct gpu_access_key, struct lines);

SEC("gpu/mem:*")
int access(struct gpu_memory_context *ctx)
{
	struct lines *sum = gpu_of_access(&accesses);
	__u32 less = LANES - gpu_lanes(), more = gpu_lines() - 1;

	if (!sum)
		return 0;
	__sync_fetch_and_add(&sum->accesses, 1);
	if (!(less | more))
		return 0;
	__sync_fetch_and_add(&sum->lanes_less, less);
	__sync_fetch_and_add(&sum->lines_more, more);
	return 0;
}
