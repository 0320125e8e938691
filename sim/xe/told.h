/* SPDX-License-Identifier: MIT */
/*
 * What a process had its simulated GPUs do, as a line that is appended to $XPUPROF_SIM_XE_TOLD when
 * it ends: "batches N kernels N".
 */
#pragma once

#include <stdatomic.h>

extern atomic_uint told_batches, told_kernels;
