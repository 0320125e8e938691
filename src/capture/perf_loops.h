/* SPDX-License-Identifier: MIT */
/*
 * The evaluation loops on a sampled stack, as the walk of its copy found them by their code. They
 * say how many groups of Python frames there were, and have what each loop worked with:
 *
 *	region of loop i   from where the loop within it ends, or the sampled stack pointer and the
 *			   registers, up to where loop i ends. What is called by a loop saves the
 *			   loop's registers, so the beginning of the loop within it is part of that.
 */
#pragma once

#include "capture/perf_memory.h"
#include "unwind/unwind.h"

struct perf_loops {
	const struct unwind_loop *items; /* innermost first */
	uint32_t count;
	bool whole; /* there are no others */
};

#define PERF_SAVED_BYTES 56 /* a return address and the registers that a function preserves */

static inline struct perf_region perf_loop_region(
	const struct perf_loops *loops, uint32_t i, const struct perf_sample *s)
{
	uint64_t start = i ? loops->items[i - 1].cfa - PERF_SAVED_BYTES : s->start.sp;

	return perf_region(s, start, loops->items[i].cfa);
}

/* Of that what only this loop has filled, or what it called has saved of it. */
static inline struct perf_region perf_loop_own_region(
	const struct perf_loops *loops, uint32_t i, const struct perf_sample *s)
{
	struct perf_region region = perf_loop_region(loops, i, s);
	uint64_t saved = loops->items[i].sp - PERF_SAVED_BYTES;

	if (region.start < saved)
		region.start = saved;
	return region;
}
