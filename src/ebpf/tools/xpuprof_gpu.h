/* SPDX-License-Identifier: MIT */
/*
 * For eBPF programs that xpuprof runs inside GPU kernels: what they are called with, and the
 * functions that they can call beside those of bpf/bpf_helpers.h (map_lookup_elem, map_update_elem,
 * map_delete_elem, perf_event_output, ringbuf_output, ringbuf_reserve, ringbuf_submit,
 * ringbuf_discard, loop, printk, ktime_get_ns, get_smp_processor_id, get_current_pid_tgid).
 *
 * A program stands in a section whose name says where it runs:
 *
 *	SEC("gpu/entry:GLOB")	when a kernel is entered whose name the glob matches; the result is
 *				the cookie of the exit program with the same glob
 *	SEC("gpu/exit:GLOB")	when it is left
 *	SEC("gpu/mem:GLOB")	at each access to memory, behind a load and before
 *				what else there is; gpu/mem.load, gpu/mem.store
 *
 * It runs in one lane of each warp; with .thread before the colon ("gpu/exit.thread:*"), in all.
 * `man xpuprof-probe` says more. 501 to 511 are bpftime's numbers.
 */
#pragma once

#include <linux/types.h>

/* What entry and exit programs are called with: the first 8 bytes of each of the kernel's
 * parameters; 0 of those that it does not have. */
struct gpu_context {
	__u64 args[12];
};

#define GPU_READS  1
#define GPU_WRITES 2
#define GPU_ATOMIC 4

/* What memory programs are called with. */
struct gpu_memory_context {
	__u64 address;
	__u32 size; /* bytes that each lane accesses */
	__u32 kind; /* GPU_READS ... */
	__u32 insn; /* number of the access in its kernel */
};

static __u64 (*gpu_globaltimer)(void) = (void *)502; /* nanoseconds */
static __u64 (*gpu_block)(__u64 *x, __u64 *y, __u64 *z) = (void *)503;
static __u64 (*gpu_block_size)(__u64 *x, __u64 *y, __u64 *z) = (void *)504;
static __u64 (*gpu_thread)(__u64 *x, __u64 *y, __u64 *z) = (void *)505;
static __u64 (*gpu_fence)(void) = (void *)506;
static __u64 (*gpu_exit)(void) = (void *)507; /* ends this thread; needs --allow-exit */
static __u64 (*gpu_grid_size)(__u64 *x, __u64 *y, __u64 *z) = (void *)508;
static __u64 (*gpu_sm)(void) = (void *)509;
static __u64 (*gpu_warp_slot)(void) = (void *)510;
static __u64 (*gpu_lane)(void) = (void *)511;

/* What the entry program returned. */
static __u64 (*gpu_cookie)(void) = (void *)520;
/* How many lanes this run stands for: 1 in .thread programs. */
static __u64 (*gpu_lanes)(void) = (void *)521;
/* A bit for each lane of the warp that is here with this one. */
static __u64 (*gpu_active_mask)(void) = (void *)522;
/* In memory programs: how many different lines of 128 bytes these lanes access together. */
static __u64 (*gpu_lines)(void) = (void *)523;
/* The number of the launch. */
static __u64 (*gpu_grid_id)(void) = (void *)524;
/* A number of the kernel (of its name and its module), and the linear number of block and thread
 * in the grid. */
static __u64 (*gpu_kernel)(void) = (void *)525;
static __u64 (*gpu_block_number)(void) = (void *)526;
static __u64 (*gpu_thread_number)(void) = (void *)527;
/* Clock cycles of the multiprocessor. */
static __u64 (*gpu_clock)(void) = (void *)528;
/* The number of the highest bit that is set, 0 for 0 and 1: in two instructions, where C takes some
 * sixty. */
static __u64 (*gpu_log2)(__u64 n) = (void *)529;

/*
 * A map of this type has a value for each access to memory in the code of the kernels that programs
 * run in. Memory programs get the value of the access that they run at from gpu_of_access(&map);
 * who reads the map from outside finds it by this key. A value has 32 bytes at most, max_entries is
 * 1, and --accesses says for how many accesses there are values: others are counted.
 */
#define GPU_MAP_OF_ACCESSES 1601

struct gpu_access_key {
	__u64 kernel; /* its number: gpu_kernel() */
	__u32 insn;   /* number of the access in it */
	__u32 size;   /* bytes that each lane accesses; 0: known only when it runs */
};

/* Never NULL; the kernel's verifier wants it tested all the same. */
static void *(*gpu_of_access)(void *map) = (void *)530;
