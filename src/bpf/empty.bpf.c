// SPDX-License-Identifier: MIT
/* A program that does nothing: what a probe costs by itself is measured with it. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "Dual MIT/GPL";

SEC("uprobe")
int nothing(void *ctx)
{
	return 0;
}
