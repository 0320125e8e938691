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

#include "view/stalls/windows.h"

struct stalls_due {
	struct stall_windows windows; /* for the period in each context */
};

/* All: 0 or -ENOMEM with error_text; release it in any case. After the last event of `r`. */
int stalls_due_init(struct stalls_due *d, const struct profile_reader *r);
void stalls_due_release(struct stalls_due *d);
/* Of works of one kind that took `time_ns` in all; 0: its context was not sampled, or its size, the
 * period or the clock are not known. */
int stalls_due(struct stalls_due *d, const struct profile_op *op, uint64_t time_ns, uint64_t *ret);
