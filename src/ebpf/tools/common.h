/* SPDX-License-Identifier: MIT */
/* What the tools share. */
#pragma once

#include <linux/types.h>
#include <stdbool.h>

#include "ebpf/tools/map.h"

#define MAP_GPU_RING	 1527
#define MAP_THREAD_ARRAY 1502
#define BUCKETS		 64

char LICENSE[] SEC("license") = "Dual MIT/GPL";

static inline __attribute__((always_inline)) void add_to(void *map, __u32 key, __u64 amount)
{
	__u64 *sum = bpf_map_lookup_elem(map, &key);

	if (sum)
		__sync_fetch_and_add(sum, amount);
}

/* The first thread of its block: one of each block leaves in it, whatever becomes of the others. */
static inline __attribute__((always_inline)) bool is_first_of_block(void)
{
	__u64 x, y, z;

	gpu_thread(&x, &y, &z);
	return !(x | y | z);
}
