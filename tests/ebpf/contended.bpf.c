// SPDX-License-Identifier: MIT
/* All threads make and count the same few entries of one hash, which is kept once, since a program
 * uses what it adds to. For tests/unit/ebpf_tools_test.c. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "ebpf/tools/xpuprof_gpu.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, __u64);
	__type(value, __u64);
} counts SEC(".maps");

SEC("gpu/exit.thread:*")
int leave(void *ctx)
{
	__u64 key = gpu_thread_number() % 9, none = 0, *count = bpf_map_lookup_elem(&counts, &key);

	if (!count) {
		bpf_map_update_elem(&counts, &key, &none, BPF_NOEXIST);
		count = bpf_map_lookup_elem(&counts, &key);
	}
	return count ? __sync_fetch_and_add(count, 1) : 0;
}

char LICENSE[] SEC("license") = "GPL";
