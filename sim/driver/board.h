/* SPDX-License-Identifier: MIT */
/*
 * What the simulated devices do, for all processes of this machine, since hardware is shared. It is
 * a file that XPUPROF_SIM_BOARD names; without it no process sees what others do. Entries are
 * written when work is submitted, with the times at which it will run. The newest BOARD_ENTRIES
 * stay.
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "tools.h"

enum { BOARD_ENTRIES = 1 << 14 };

struct board_entry {
	_Atomic uint64_t number; /* its position, plus 1, once all of it is written */
	uint64_t start_ns, end_ns;
	uint64_t read_bytes, written_bytes;	      /* of the device's memory */
	uint64_t pcie_read_bytes, pcie_written_bytes; /* by the device */
	uint32_t device;
	uint32_t block_threads; /* 0: no kernel */
	uint32_t tensor;	/* it is a matrix product, by its name */
};

struct board {
	_Atomic uint64_t next;
	struct board_entry entries[BOARD_ENTRIES];
};

struct sim_work;
struct sim_run;

void sim_board_note(int device, const struct sim_work *work, const struct sim_run *run);
/* NULL: there is none. */
SIM_EXPORT struct board *xpuprof_sim_board(void);
