// SPDX-License-Identifier: MIT
/* Programs that are kernels of their own, as bpftime has them: for tests/cli/probe_alone.t. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "ebpf/tools/xpuprof_gpu.h"

struct {
	__uint(type, 1503);
	__uint(max_entries, 64);
	__type(key, __u32);
	__type(value, __u32);
} in SEC(".maps"), out SEC(".maps");

__u64 runs;

static void (*const block_index)(__u64 *x, __u64 *y, __u64 *z) = (void *)503;
static void (*const block_size)(__u64 *x, __u64 *y, __u64 *z) = (void *)504;
static void (*const thread_index)(__u64 *x, __u64 *y, __u64 *z) = (void *)505;

/* out[i] = in[i] + i + 1 */
SEC("kprobe/__directly_run")
int cuda__each(void *ctx)
{
	__u64 block = 0, size = 0, thread = 0, y, z;
	__u32 i, sum, *value;

	block_index(&block, &y, &z);
	block_size(&size, &y, &z);
	thread_index(&thread, &y, &z);
	i = (__u32)(block * size + thread);
	value = bpf_map_lookup_elem(&in, &i);
	if (!value)
		return 0;
	sum = *value + i + 1;
	bpf_map_update_elem(&out, &i, &sum, BPF_ANY);
	return 0;
}

SEC("kprobe/__directly_run")
int cuda__count(void *ctx)
{
	__sync_fetch_and_add(&runs, 1);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
