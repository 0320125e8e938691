/* SPDX-License-Identifier: MIT */
/*
 * A GPU vendor that does not exist, in one folder: a backend, names, a format of code, and programs
 * that use its API. xpuprof is linked once more with its rows beside the real ones
 * (tests/null/tables.c), which shows that a vendor needs no other line anywhere.
 *
 * Its driver is a log: programs append a record for each call to the file that $NULL_GPU_LOG names,
 * and the backend reads it. Nothing in it is checked: the programs are our own.
 */
#pragma once

#include <stdint.h>

#define NULL_LOG_VARIABLE "NULL_GPU_LOG"
#define NULL_FRAMES	  32
#define NULL_NAME	  32

enum null_kind {
	NULL_LAUNCH = 1,
	NULL_SYNC, /* waits for what was launched */
};

struct null_record {
	uint32_t pid;
	uint32_t tid;
	uint32_t kind;
	uint32_t correlation;
	uint64_t call_start_ns;
	uint64_t call_end_ns;
	uint64_t work_start_ns; /* of launches */
	uint64_t work_end_ns;
	char kernel[NULL_NAME];
	uint32_t depth;
	uint32_t pad;
	uint64_t frames[NULL_FRAMES]; /* return addresses, leaf first */
};
