// SPDX-License-Identifier: MIT
/* Programs for the operating system's kernel and for GPU kernels that share maps: for
 * tests/cli/probe_shared.t. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "ebpf/tools/xpuprof_gpu.h"

/* 0: launches, as the uprobe counts them; 1: threads; 2: the sum of what threads read at 0; 3: what
 * --set wants; 4, 5: the constant of both, as the uprobe and as threads read it; 6: that of the
 * uprobe alone. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 7);
	__type(key, __u32);
	__type(value, __u64);
} both SEC(".maps");

/* bpftime's type of such a map. */
struct {
	__uint(type, 1504);
	__uint(max_entries, 1000);
	__type(key, __u32);
	__type(value, __u32);
} bpftimes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8);
	__type(key, __u32);
	__type(value, __u64);
} only_kernel SEC(".maps");

/* What launches are counted by. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} step SEC(".maps");

__u64 threads_and_launches;
__u64 begins_at = 40;
const volatile __u64 constant = 5;
const volatile __u64 constant_of_kernel = 6;

static void add(__u32 key, __u64 n)
{
	__u64 *value = bpf_map_lookup_elem(&both, &key);

	if (value)
		__sync_fetch_and_add(value, n);
}

static void put(__u32 key, __u64 n)
{
	__u64 *value = bpf_map_lookup_elem(&both, &key);

	if (value)
		*value = n;
}

SEC("uprobe")
int on_launch(void *ctx)
{
	__u32 key = 999, first = 0, *mark = bpf_map_lookup_elem(&bpftimes, &key);
	__u64 *by = bpf_map_lookup_elem(&step, &first);

	if (by)
		add(0, *by);
	__sync_fetch_and_add(&threads_and_launches, 1000000);
	__sync_fetch_and_add(&begins_at, 1);
	if (mark)
		*mark = 7;
	put(4, constant);
	put(6, constant_of_kernel);
	return 0;
}

SEC("tracepoint/sched/sched_process_exit")
int on_exit(void *ctx)
{
	__u32 key = 0;
	__u64 one = 1;

	bpf_map_update_elem(&only_kernel, &key, &one, BPF_ANY);
	return 0;
}

SEC("gpu/exit.thread:vector_add")
int on_thread(void *ctx)
{
	__u32 key = 0, last = 999;
	__u64 *launches = bpf_map_lookup_elem(&both, &key);
	__u32 *mark = bpf_map_lookup_elem(&bpftimes, &last);

	add(1, 1);
	put(5, constant);
	if (launches)
		add(2, *launches);
	if (mark && *mark == 7)
		__sync_fetch_and_add(&threads_and_launches, 1);
	__sync_fetch_and_add(&begins_at, 0);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
