// SPDX-License-Identifier: MIT
/* Which pages of 64 KiB are accessed in which eighth of a second: bytes. All that a warp
 * accesses at once counts for the page of its lowest lane: where its lanes are far apart, pages
 * are missing. */
#include "ebpf/tools/common.h"

#define PAGE_BITS 16
#define TIME_BITS 27 /* of nanoseconds */

struct page {
	__u64 number, time;
};

TOOL_MAP(bytes, BPF_MAP_TYPE_HASH, 2048, struct page, __u64);

SEC("gpu/mem:*")
int access(struct gpu_memory_context *ctx)
{
	struct page page = {
		.number = ctx->address >> PAGE_BITS, .time = gpu_globaltimer() >> TIME_BITS};
	__u64 none = 0, *sum = bpf_map_lookup_elem(&bytes, &page);

	if (!sum) {
		bpf_map_update_elem(&bytes, &page, &none, BPF_NOEXIST);
		sum = bpf_map_lookup_elem(&bytes, &page);
	}
	if (sum)
		__sync_fetch_and_add(sum, gpu_lanes() * ctx->size);
	return 0;
}
