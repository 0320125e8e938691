/* SPDX-License-Identifier: MIT */
/* Types of maps that GPU programs can use. A type is a number in the object file; those from 1501
 * on are bpftime's (runtime/include/bpf_map, "GPU maps"), and mean here what they mean there; 1601
 * is ours. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum ebpf_map_shape {
	EBPF_ARRAY,
	EBPF_SM_ARRAY,	   /* each multiprocessor has its own values */
	EBPF_THREAD_ARRAY, /* each thread of the grid has its own values */
	EBPF_HASH,
	/* A value for each access to memory in the code of kernels: GPU programs have no key, and
	 * readers one of struct ebpf_site_key. */
	EBPF_SITES,
	EBPF_RING,
};

struct ebpf_site_key {
	uint64_t kernel; /* hash of its name */
	uint32_t insn;	 /* number of the access in it */
	uint32_t size;	 /* bytes that each lane accesses; 0: known only when it runs */
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
