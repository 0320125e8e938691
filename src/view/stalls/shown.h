/* SPDX-License-Identifier: MIT */
/*
 * Of a part of the recording: how many of its samples each instruction has there, whole ones. They
 * follow the launches that they were given to (stalls.h), and stretches of time that make up the
 * whole add up to all samples. Those of no kernel count where their window ends.
 */
#pragma once

#include "view/stalls/stalls.h"

struct stall_shown {
	/* instruction << 32 | reason (index) << 1 | latency -> parts of all there are, of those so
	 * far, and whole samples that are shown */
	struct map all, until, samples;
};

/* Of stalls with a part, after stalls_finish: 0 or -ENOMEM with error_text. Comes zeroed; release
 * it in either case. */
int stall_shown_find(struct stall_shown *n, const struct stalls *s);
void stall_shown_release(struct stall_shown *n);
/* Of an instruction, by the vendor's name of the reason (a string). */
uint64_t stall_shown_samples(
	const struct stall_shown *n, const struct stalls *s, uint32_t instruction, uint32_t reason);
