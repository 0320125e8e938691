// SPDX-License-Identifier: MIT
/* Everything that an object file can have: for tests/unit/ebpf_object_test.c. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "ebpf/tools/xpuprof_gpu.h"

struct pair {
	__u32 a, b;
	__u64 c;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 64);
	__type(key, __u32);
	__type(value, __u64);
} counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 100);
	__type(key, struct pair);
	__type(value, struct pair);
} by_pair SEC(".maps");

struct {
	__uint(type, 1527);
	__uint(max_entries, 4096);
	__uint(key_size, 4);
	__uint(value_size, 24);
} ring SEC(".maps");

/* Only for the kernel. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 10);
	__type(key, __u32);
	__type(value, __u64);
} recent SEC(".maps");

const volatile __u32 limit = 7;
__u64 total;
__u64 first = 42, second = 43;

static __attribute__((noinline)) __u64 twice(__u64 x)
{
	total += x;
	return x * 2;
}

static long each(__u32 i, void *context)
{
	*(__u64 *)context += i;
	return 0;
}

SEC("gpu/entry:*add*")
int enter(struct gpu_context *ctx)
{
	return twice(ctx->args[0]);
}

SEC("gpu/exit.warp:*add*")
int leave(void *ctx)
{
	__u32 key = limit;
	__u64 *count = bpf_map_lookup_elem(&counts, &key);

	if (count)
		__sync_fetch_and_add(count, second);
	return 0;
}

SEC("gpu/exit.warp:*add*")
int leave_again(void *ctx)
{
	__u64 sum = 0;

	bpf_loop(10, each, &sum, 0);
	return twice(sum) != 90;
}

SEC("gpu/mem.load.thread:_Z4copy")
int load(struct gpu_memory_context *ctx)
{
	struct pair key = {.a = ctx->size}, *value = bpf_map_lookup_elem(&by_pair, &key);

	return value ? value->a : 0;
}

SEC("kprobe/_Z3addPf")
int cuda__add(void *ctx)
{
	return 0;
}

SEC("kprobe/__memcapture")
int cuda__memory(void *ctx)
{
	return 0;
}

SEC("kprobe/__directly_run")
int cuda__run(void *ctx)
{
	return 0;
}

SEC("kretprobe/cuda__Z3subPf")
int named_by_its_section(void *ctx)
{
	return 0;
}

SEC("kprobe/do_exit")
int for_the_kernel(void *ctx)
{
	__u32 key = 1;
	__u64 *count = bpf_map_lookup_elem(&by_pair, &key),
	      *seen = bpf_map_lookup_elem(&recent, &key);

	return count && seen ? twice(*count) : 0;
}

char LICENSE[] SEC("license") = "GPL";
