// SPDX-License-Identifier: MIT
/* 64 programs, as many as an object may have, which share two sections. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "ebpf/tools/xpuprof_gpu.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 64);
	__type(key, __u32);
	__type(value, __u64);
} counts SEC(".maps");

#define ONE(n, where)                                                                              \
	SEC("gpu/" where ":*")                                                                     \
	int program_##n(void *ctx)                                                                 \
	{                                                                                          \
		__u32 key = n & 63;                                                                \
		__u64 *count = bpf_map_lookup_elem(&counts, &key);                                 \
                                                                                                   \
		if (count)                                                                         \
			__sync_fetch_and_add(count, n);                                            \
		return n;                                                                          \
	}
#define FOUR(n, where)                                                                             \
	ONE(n##0, where)                                                                           \
	ONE(n##1, where) ONE(n##2, where) ONE(n##3, where)
#define EIGHT(n) FOUR(n##1, "entry") FOUR(n##2, "exit")

EIGHT(1)
EIGHT(2)
EIGHT(3)
EIGHT(4)
EIGHT(5)
EIGHT(6)
EIGHT(7)
EIGHT(8)

char LICENSE[] SEC("license") = "GPL";
