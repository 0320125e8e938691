/* SPDX-License-Identifier: MIT */
/* What the tools share. */
#pragma once

#include <linux/bpf.h>
#include <linux/types.h>
#include <stdbool.h>
#include <bpf/bpf_helpers.h>

#include "ebpf/tools/xpuprof_gpu.h"

#define TOOL_MAP(name, type_, entries, key_type, value_type)                                       \
	struct {                                                                                   \
		__uint(type, type_);                                                               \
		__uint(max_entries, entries);                                                      \
		__type(key, key_type);                                                             \
		__type(value, value_type);                                                         \
	} name SEC(".maps")

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
