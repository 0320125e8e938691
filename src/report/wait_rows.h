/* SPDX-License-Identifier: MIT */
/*
 * The rows of the table of waits as people read it: threads of one process that have the same name and wait at the same
 * place for the same reason are one row, so that a pool of threads does not fill the table, and so are stacks that
 * differ only in what the table does not show. So are the threads that ended these waits, of any process, and what they did meanwhile.
 */
#pragma once

#include <stdint.h>

#include "base/intern.h"
#include "base/vec.h"
#include "report/report.h"

struct wait_row {
	struct wait_sum sum;   /* of all; thread: one of them; number: in wakers and doings below */
	uint32_t place;	       /* in wait_rows.places; 0: the stack is not known */
	uint32_t thread_count;
	const struct wait_rows *all; /* that it is one of */
};

struct wait_rows {
	struct vec(struct wait_row) rows; /* most time first */
	struct interner *places;	  /* " at main > load": texts */
	struct wait_shares wakers, doings; /* of threads of one name; stack: in places, 0: not known */
};

/* Of the waits in the report's summary. 0 or -ENOMEM; release it in either case. */
int wait_rows_init(struct wait_rows *w, const struct report *r);
void wait_rows_release(struct wait_rows *w);
