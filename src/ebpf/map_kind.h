/* SPDX-License-Identifier: MIT */
/* Types of maps that GPU programs can use. A type is a number in the object file; those from 1501
 * on are bpftime's (runtime/include/bpf_map, "GPU maps"), and mean here what they mean there. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum ebpf_map_shape {
	EBPF_ARRAY,
	EBPF_SM_ARRAY,	   /* each multiprocessor has its own values */
	EBPF_THREAD_ARRAY, /* each thread of the grid has its own values */
	EBPF_HASH,
	EBPF_RING,
};

struct ebpf_map_kind {
	uint32_t type;
	const char *name;
	enum ebpf_map_shape shape;
	bool in_host_memory; /* whoever made the map wants it there */
	bool counts_bytes;   /* max_entries are bytes */
};

/* NULL: not one that GPU programs can use. */
const struct ebpf_map_kind *ebpf_map_kind(uint32_t type);
