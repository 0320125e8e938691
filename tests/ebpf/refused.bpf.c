// SPDX-License-Identifier: MIT
/* A program that is refused, at a line that is known. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "ebpf/tools/xpuprof_gpu.h"

SEC("gpu/entry:*")
int reads(struct gpu_context *ctx)
{
	return *(volatile __u32 *)ctx->args[0];
}

char LICENSE[] SEC("license") = "GPL";
