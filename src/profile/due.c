// SPDX-License-Identifier: MIT
#include "profile/due.h"

#define KHZ_PER_GHZ 1e6

double due_cycles_per_ns(const uint32_t grid[3], uint32_t sm_count, uint32_t clock_khz)
{
	double blocks = (double)grid[0] * grid[1] * grid[2];
	double busy = blocks < sm_count ? blocks : sm_count;

	return clock_khz / KHZ_PER_GHZ * busy;
}

uint64_t due_samples(double cycles, uint64_t period_cycles)
{
	double due = cycles / (double)period_cycles;

	return due < (double)UINT64_MAX ? (uint64_t)due : UINT64_MAX;
}
