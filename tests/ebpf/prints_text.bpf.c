// SPDX-License-Identifier: MIT
/* It prints what is an address on the GPU, which is refused. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "ebpf/tools/xpuprof_gpu.h"

SEC("gpu/entry:*")
int prints(struct gpu_context *ctx)
{
	bpf_printk("100 %% of %s", "them");
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
