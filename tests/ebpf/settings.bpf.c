/* SPDX-License-Identifier: MIT */
/* Maps of each type that begin with values, for tests/cli/probe_set.t. */
#include "ebpf/tools/map.h"

struct pair {
	__u32 a, b, c;
};

struct bits {
	__u32 low : 3, high : 29;
	__s32 below : 4;
};

TOOL_MAP(wanted, BPF_MAP_TYPE_HASH, 256, struct pair, __u64);
TOOL_MAP(factors, BPF_MAP_TYPE_PERCPU_ARRAY, 2, __u32, __u64);
TOOL_MAP(sums, BPF_MAP_TYPE_PERCPU_ARRAY, 2, __u32, __u64);
TOOL_MAP(looked_up, BPF_MAP_TYPE_HASH, 64, __u32, __u32);
TOOL_MAP(one, BPF_MAP_TYPE_ARRAY, 1, __u32, __u64);
TOOL_MAP(many, BPF_MAP_TYPE_ARRAY, 4, __u32, __u64);
TOOL_MAP(threads, 1502, 2, __u32, __u64);
TOOL_MAP(ring, 1527, 65536, __u32, struct pair);

__u32 four[4];
__u64 results[3];
struct bits bits = {.low = 5, .high = 1000, .below = -3};
struct pair pair;
static volatile __u16 hidden = 7;
const volatile __u32 constant = 3;
const volatile char text[8] = "name";

static void add_one(void *map, const void *key)
{
	__u64 *n = bpf_map_lookup_elem(map, key);

	if (n)
		__sync_fetch_and_add(n, 1);
}

SEC("gpu/exit.warp:*")
int count(void *ctx)
{
	struct pair key = {.a = 1, .b = 2, .c = 3}, record = {};
	__u32 zero = 0, seven = 7, *value;
	__u64 *factor = bpf_map_lookup_elem(&factors, &zero);

	add_one(&wanted, &key);
	add_one(&sums, &zero);
	add_one(&many, &zero);
	add_one(&one, &zero);
	add_one(&threads, &zero);
	value = bpf_map_lookup_elem(&looked_up, &seven);
	results[0] = value ? *value : 0;
	seven = 8;
	value = bpf_map_lookup_elem(&looked_up, &seven);
	results[1] = value ? *value : 0;
	results[2] = factor ? *factor : 0;
	four[1] = constant + hidden + text[0];
	pair.b = bits.low + bits.high;
	if (!results[2])
		bpf_perf_event_output(ctx, &ring, 0, &record, sizeof(record));
	return 0;
}
