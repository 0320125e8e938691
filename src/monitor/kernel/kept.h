/* SPDX-License-Identifier: MIT */
/* What is read once of a kernel (kernel.h) and asked for again: kernel.c has it, types.c adds to
 * it. */
#pragma once

#include "base/buf.h"
#include "monitor/kernel/types.h"

struct monitor_kernel_kept {
	struct buf functions; /* "\nNAME\nNAME\n" */
	struct types *types;
};
