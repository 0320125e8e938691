// SPDX-License-Identifier: MIT
/* What cannot be shared: for tests/cli/probe_shared.t. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "ebpf/tools/xpuprof_gpu.h"

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} events SEC(".maps");

SEC("tracepoint/sched/sched_process_exit")
int on_exit(void *ctx)
{
	__u64 n = 1;

	return (int)bpf_ringbuf_output(&events, &n, sizeof(n), 0);
}

SEC("gpu/entry:vector_add")
int on_kernel(void *ctx)
{
	__u64 n = 2;

	return (int)bpf_ringbuf_output(&events, &n, sizeof(n), 0);
}

char LICENSE[] SEC("license") = "GPL";
