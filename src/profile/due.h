/* SPDX-License-Identifier: MIT */
/*
 * How many samples of instructions a kernel should have had: each multiprocessor that runs a block
 * leaves one every period.
 *
 * It is the most there can be. A multiprocessor that has no block any more while others still work,
 * and a clock below its highest, leave fewer. So only a much smaller number, or none at all, says
 * that samples are missing.
 */
#pragma once

#include <stdint.h>

/* The cycles of all multiprocessors that run a kernel, in a nanosecond of it; 0: its size or the
 * GPU's clock, at most, are not known. */
double due_cycles_per_ns(const uint32_t grid[3], uint32_t sm_count, uint32_t clock_khz);
/* Samples in so many cycles. */
uint64_t due_samples(double cycles, uint64_t period_cycles);
