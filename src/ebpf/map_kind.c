// SPDX-License-Identifier: MIT
#include "ebpf/map_kind.h"

#include <stddef.h>

// clang-format off
static const struct ebpf_map_kind kinds[] = {
	{1, "hash", EBPF_HASH, false, false},
	{2, "array", EBPF_ARRAY, false, false},
	{6, "percpu array", EBPF_SM_ARRAY, false, false},
	{27, "ring buffer", EBPF_RING, true, true},
	{1501, "GPU hash", EBPF_HASH, false, false},
	{1502, "per-thread array", EBPF_THREAD_ARRAY, false, false},
	{1503, "GPU array", EBPF_ARRAY, false, false},
	{1504, "array shared with the kernel", EBPF_ARRAY, true, false},
	{1512, "per-thread array in host memory", EBPF_THREAD_ARRAY, true, false},
	{1513, "GPU array in host memory", EBPF_ARRAY, true, false},
	{1527, "GPU ring buffer", EBPF_RING, true, false},
	{1601, "array by access", EBPF_SITES, false, false},
};
// clang-format on

const struct ebpf_map_kind *ebpf_map_kind(uint32_t type)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (kinds[i].type == type)
			return &kinds[i];
	return NULL;
}
