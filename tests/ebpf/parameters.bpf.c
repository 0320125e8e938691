// SPDX-License-Identifier: MIT
/* It reads a parameter that few kernels have. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "ebpf/tools/xpuprof_gpu.h"

__u64 last;

SEC("gpu/entry:*")
int reads(struct gpu_context *ctx)
{
	__sync_fetch_and_add(&last, ctx->args[11] + 1);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
