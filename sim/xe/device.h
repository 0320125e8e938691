/* SPDX-License-Identifier: MIT */
/*
 * What the simulated GPUs are, by $XPUPROF_SIM_XE_DEVICE, and what their kernel driver says of
 * them.
 */
#pragma once

#include <stdbool.h>

#include "uapi.h"

#define SIM_XE_RATES	7
#define SIM_XE_RATE	251 /* cycles, and multiples */
#define SIM_XE_HZ	19200000ull
#define SIM_XE_TILES	4 /* at most */
#define SIM_XE_GTS_EACH 2 /* of a tile; the first is the main one */

struct device {
	const char *name;
	uint32_t id;
	uint16_t major, minor, revision;
	bool own_memory;
	unsigned int va_bits;
	unsigned int kernel_at;	 /* of the command that runs a kernel: words before its start */
	unsigned int stall_bit;	 /* where its stall records have the threads that go on */
	unsigned int stamp_size; /* bytes of a timestamp that a kernel leaves */
};

const struct device *device_here(void);

/* How many it has: $XPUPROF_SIM_XE_TILES, or one. */
unsigned int device_tiles(void);

/* The GPUs' counter now. */
uint64_t device_cycles(void);

/* 0 or a negative error. */
int device_answer(const struct device *d, struct xe_query *q);
