/* SPDX-License-Identifier: MIT */
/*
 * The rows of the table of waits as people read it. Threads of one process that have the same name,
 * and wait for the same reason with the same call path as the table shows it, are one row: a pool
 * of threads does not fill the table. The threads that ended these waits, of any process, are
 * merged in the same way, and so is what they did meanwhile.
 */
#pragma once

#include <stdint.h>

#include "base/intern.h"
#include "base/vec.h"
#include "report/report.h"

struct wait_row {
	struct wait_sum sum; /* of all; thread: one of them; number: in wakers and doings below */
	uint32_t path;	     /* in wait_rows.paths; 0: the stack is not known */
	uint32_t thread_count;
	const struct wait_rows *all; /* that it belongs to */
};

struct wait_rows {
	struct vec(struct wait_row) rows; /* most time first */
	struct interner *paths;		  /* of calls, as texts: " at main > load" */
	/* of threads of one name; stack: in paths, 0: not known */
	struct wait_shares wakers, doings;
};

/* Of the waits in the report's summary. 0 or -ENOMEM; release it in either case. */
int wait_rows_init(struct wait_rows *w, const struct report *r);
void wait_rows_release(struct wait_rows *w);
