/* SPDX-License-Identifier: MIT */
/*
 * A simulated command streamer: it walks the batches that the driver has written. Kernels are not
 * executed: they take 1000 cycles and 10 more for each group, and leave their timestamps and stall
 * records. Copies between plain ranges of memory are done.
 */
#pragma once

#include <stdatomic.h>

#include "device.h"
#include "memory.h"

#define SIM_XE_REGISTERS 64

struct streamer {
	struct memory *memory;
	const struct device *device;
	uint32_t vm, tile;
	atomic_bool stop; /* the batch that runs is to end */
	uint64_t code;	  /* kernels begin here and so many bytes on */
	struct {
		uint32_t number, value;
	} registers[SIM_XE_REGISTERS];
	uint32_t register_count;
};

/* Runs the batch at this address to its end: 0, or a negative error, with what it is on stderr. */
int streamer_run(struct streamer *s, uint64_t address);
