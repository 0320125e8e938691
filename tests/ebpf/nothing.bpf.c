// SPDX-License-Identifier: MIT
/* Programs without effects: kernels stay as they are. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "ebpf/tools/xpuprof_gpu.h"

SEC("gpu/entry:*")
__u64 enter(void *ctx)
{
	return gpu_globaltimer();
}

SEC("gpu/exit:*")
int leave(void *ctx)
{
	return gpu_cookie() > gpu_globaltimer();
}

SEC("gpu/mem:*")
int access(struct gpu_memory_context *ctx)
{
	return ctx->size > 4;
}
