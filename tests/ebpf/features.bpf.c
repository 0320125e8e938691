// SPDX-License-Identifier: MIT
/* What programs can do, each in one of its own, for tests/cli/probe.t. */
#include "ebpf/tools/map.h"

struct key {
	__u32 a, b, c;
};

struct record {
	__u64 start, end;
	__u32 block;
	__u8 small;
};

TOOL_MAP(added, BPF_MAP_TYPE_ARRAY, 64, __u32, __u64);
TOOL_MAP(added_hash, BPF_MAP_TYPE_HASH, 256, struct key, __u64);
TOOL_MAP(kept, 1503, 4, __u32, __u64[4]);
TOOL_MAP(by_key, BPF_MAP_TYPE_HASH, 256, struct key, struct record);
TOOL_MAP(per_thread, 1502, 2, __u32, __u64);
TOOL_MAP(per_sm, BPF_MAP_TYPE_PERCPU_ARRAY, 2, __u32, __u64);
TOOL_MAP(ring, 1527, 65536, __u32, struct record);
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} bytes_ring SEC(".maps");

const volatile __u32 step = 3;
__u64 seen;
__u64 state[8];

SEC("gpu/entry:*")
__u64 enter(struct gpu_context *ctx)
{
	return gpu_globaltimer() + (__u32)ctx->args[1];
}

SEC("gpu/exit:*")
int add(void *ctx)
{
	__u32 key = (gpu_globaltimer() - gpu_cookie()) & 63;
	__u64 *count = bpf_map_lookup_elem(&added, &key);

	if (count)
		__sync_fetch_and_add(count, gpu_lanes());
	__sync_fetch_and_add(&seen, 1);
	return 0;
}

SEC("gpu/exit:*")
int add_to_hash(void *ctx)
{
	struct key key = {.a = gpu_sm(), .b = gpu_warp_slot()};
	__u64 zero = 0, *count = bpf_map_lookup_elem(&added_hash, &key);

	if (!count) {
		bpf_map_update_elem(&added_hash, &key, &zero, BPF_NOEXIST);
		count = bpf_map_lookup_elem(&added_hash, &key);
	}
	if (count)
		__sync_fetch_and_add(count, gpu_lanes());
	return 0;
}

SEC("gpu/exit.thread:*")
int keep(void *ctx)
{
	__u64 x, y, z, values[4] = {};
	__u32 key = 1;
	__u64 *found = bpf_map_lookup_elem(&kept, &key);

	gpu_block(&x, &y, &z);
	if (found)
		values[2] = found[x & 3] + __sync_fetch_and_add(&found[1], z);
	values[0] = x * y;
	bpf_map_update_elem(&kept, &key, values, BPF_ANY);
	return 0;
}

SEC("gpu/mem:*")
int by_access(struct gpu_memory_context *ctx)
{
	struct key key = {.a = ctx->insn, .b = ctx->kind, .c = ctx->address >> 12};
	struct record r = {.start = gpu_kernel(), .block = gpu_lines(), .small = ctx->size};

	bpf_map_update_elem(&by_key, &key, &r, BPF_ANY);
	return bpf_map_delete_elem(&by_key, &key);
}

SEC("gpu/exit.thread:*")
int counters(void *ctx)
{
	__u32 key = step;
	__u64 *mine = bpf_map_lookup_elem(&per_thread, &key),
	      *sm = bpf_map_lookup_elem(&per_sm, &key);

	if (mine)
		*mine += 1;
	if (sm)
		*sm += gpu_lane();
	return 0;
}

SEC("gpu/exit:*")
int send(void *ctx)
{
	struct record r = {
		.start = gpu_cookie(), .end = gpu_globaltimer(), .block = gpu_block_number()};
	struct record *reserved = bpf_ringbuf_reserve(&bytes_ring, sizeof(r), 0);

	bpf_perf_event_output(0, &ring, 0, &r, sizeof(r));
	bpf_ringbuf_output(&bytes_ring, &r, sizeof(r), 0);
	if (!reserved)
		return 1;
	*reserved = r;
	reserved->small = gpu_grid_id();
	bpf_ringbuf_submit(reserved, 0);
	bpf_printk("block %lu, thread %lu", gpu_block_number(), gpu_thread_number());
	return 0;
}

static long sum(__u32 i, __u64 *total)
{
	*total += state[i & 7];
	return *total > 1000;
}

SEC("gpu/exit:*")
int loops(void *ctx)
{
	__u64 total = 0;
	__u32 key = 0;

	bpf_loop(gpu_lanes(), sum, &total, 0);
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < gpu_lanes(); i++)
		total += i * gpu_clock();
	bpf_map_update_elem(&per_sm, &key, &total, 0);
	return 0;
}

/* Places that are only known when it runs, which are guarded. */
SEC("gpu/exit:*")
int guarded(void *ctx)
{
	__u8 stack[16] = {};
	__u64 at = gpu_clock();

	stack[at & 15] = 1;
	state[stack[(at >> 4) & 15]] = 2;
	*((__u8 *)state + (gpu_lane() << step)) = stack[(at >> 8) & 15];
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
