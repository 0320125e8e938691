/* SPDX-License-Identifier: MIT */
/*
 * Stall records of simulated GPUs. A kernel that runs leaves SIM_STALL_RECORDS of them, spread over
 * its instructions, each of SIM_STALL_SAMPLES threads, in the pipe $XPUPROF_SIM_XE, which stands
 * for the hardware's buffer. When that is full for $XPUPROF_SIM_XE_PATIENCE_MS they are dropped, as
 * are those of each third kernel with the fault "drop", and who reads the stream is told once. Before
 * the first, a kernel waits as long for somebody to read; with 0 none waits, and each looks again.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIM_STALL_RECORDS 32
#define SIM_STALL_SAMPLES 4
#define SIM_STALL_BYTES	  (32 * 16) /* of code, at most */

/* By generation: where the count of threads is that go on. */
enum { SIM_STALL_ACTIVE_PVC = 29, SIM_STALL_ACTIVE_XE2 = 101, SIM_STALL_ACTIVE_XE3P = 133 };

/* The path of the pipe of a tile: with ".1", ".2", ... behind it, but for the first. NULL: none. */
const char *sim_stalls_path(unsigned int tile, char *ret, size_t room);

/* Whether some were dropped since that was last asked, by any process. */
bool sim_stalls_dropped(void);

/* `size` bytes of code at this address of the GPU; from its end on it is run again. */
void sim_stalls_run(unsigned int tile, unsigned int active_bit, uint64_t address,
	const uint8_t *code, size_t size);
