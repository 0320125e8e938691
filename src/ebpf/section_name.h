/* SPDX-License-Identifier: MIT */
/*
 * What the name of a section says of the programs in it:
 *
 *	gpu/entry:GLOB		when a kernel is entered whose name the glob matches
 *	gpu/exit:GLOB		when it is left
 *	gpu/mem:GLOB		at each access of it to memory; gpu/mem.load:, gpu/mem.store:
 *	... .warp:GLOB		in one lane of each warp, which is also what no suffix means
 *	... .thread:GLOB	in every thread
 *
 * and bpftime's names, which run in every thread: kprobe/KERNEL, kretprobe/KERNEL,
 * kprobe/__memcapture (all kernels), kprobe/__directly_run (a kernel of its own). They are for the
 * GPU where the program's name, or KERNEL, begins with bpftime's prefix; KERNEL is
 * mangled and no glob.
 */
#pragma once

#include <stdbool.h>

enum ebpf_where {
	EBPF_AT_ENTRY,
	EBPF_AT_EXIT,
	EBPF_AT_LOAD,
	EBPF_AT_STORE,
	EBPF_AT_ACCESS,
	EBPF_ALONE, /* is a kernel */
};

struct ebpf_site {
	enum ebpf_where where;
	bool per_thread;
	bool has_context; /* its first argument is a context of ours */
	bool is_literal;  /* the pattern is a name, not a glob */
	const char *pattern;
};

/* 1 with *ret: for the GPU; 0: for the kernel; -EINVAL with error_text: it begins like one of ours
 * and is none. The pattern points into `section`. */
int ebpf_section_parse(const char *section, const char *function, struct ebpf_site *ret);
/* "entry", ... */
const char *ebpf_where_name(enum ebpf_where where);
static inline bool ebpf_where_is_memory(enum ebpf_where where)
{
	return where == EBPF_AT_LOAD || where == EBPF_AT_STORE || where == EBPF_AT_ACCESS;
}
