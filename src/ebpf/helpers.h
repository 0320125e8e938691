/* SPDX-License-Identifier: MIT */
/*
 * Functions that programs can call, by the kernel's numbers, bpftime's (501 to 511) and ours (520
 * and on, src/ebpf/tools/xpuprof_gpu.h).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ebpf/section_name.h"

enum helper {
	HELPER_LOOKUP = 1,
	HELPER_UPDATE = 2,
	HELPER_DELETE = 3,
	HELPER_KTIME = 5,
	HELPER_PRINTK = 6,
	HELPER_VPRINTK = 177, /* what bpf_printk is with more than 3 arguments: refused */
	HELPER_PROCESSOR = 8,
	HELPER_TAIL_CALL = 12,
	HELPER_PID_TGID = 14,
	HELPER_PERF_OUTPUT = 25,
	HELPER_RING_OUTPUT = 130,
	HELPER_RING_RESERVE = 131,
	HELPER_RING_SUBMIT = 132,
	HELPER_RING_DISCARD = 133,
	HELPER_LOOP = 181,
	HELPER_PUTS = 501,
	HELPER_TIMER = 502,
	HELPER_BLOCK = 503,
	HELPER_BLOCK_SIZE = 504,
	HELPER_THREAD = 505,
	HELPER_FENCE = 506,
	HELPER_EXIT = 507,
	HELPER_GRID_SIZE = 508,
	HELPER_SM = 509,
	HELPER_WARP_SLOT = 510,
	HELPER_LANE = 511,
	HELPER_COOKIE = 520,
	HELPER_LANES = 521,
	HELPER_ACTIVE_MASK = 522,
	HELPER_LINES = 523,
	HELPER_GRID_ID = 524,
	HELPER_KERNEL = 525,
	HELPER_BLOCK_NUMBER = 526,
	HELPER_THREAD_NUMBER = 527,
	HELPER_CLOCK = 528,
	HELPER_LOG2 = 529,
	HELPER_OF_ACCESS = 530,
};

enum helper_argument {
	ARGUMENT_NONE,
	ARGUMENT_ANY, /* is not looked at */
	ARGUMENT_NUMBER,
	ARGUMENT_MAP,
	ARGUMENT_KEY,	 /* of the map: memory of its key's size */
	ARGUMENT_VALUE,	 /* the same of its value's */
	ARGUMENT_DATA,	 /* memory of the size that is the next argument */
	ARGUMENT_SIZE,	 /* known when the program is read */
	ARGUMENT_RESULT, /* 8 bytes that are written */
	ARGUMENT_RECORD, /* what bpf_ringbuf_reserve returned */
	ARGUMENT_TEXT,	 /* known when the program is read */
};

#define HELPER_ARGUMENTS 5

struct ebpf_helper {
	int32_t id;
	const char *name;
	uint8_t arguments[HELPER_ARGUMENTS];
};

/* NULL: there is none. */
const struct ebpf_helper *ebpf_helper(int32_t id);
/* NULL: a program that runs there may call it; else why not. */
const char *ebpf_helper_misplaced(int32_t id, const struct ebpf_site *site);
