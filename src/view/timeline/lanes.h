/* SPDX-License-Identifier: MIT */
/*
 * Rows of a time axis by importance: which of very many a screen gets to know.
 *
 *	lane	rows that stand together: all of a thread, or one row
 *	class	threads, streams, counters, rings of drivers; each has an order of its own
 *
 *	order	the first lane of each group (a process, a GPU with a process, a GPU, all rings),
 *		then the others; of both those with more time first, not counting waits
 *
 * The order depends on the rows alone: what comes behind a number of lanes is the same each time.
 */
#pragma once

#include "view/timeline/rows.h"

enum lane_class { LANES_THREADS = 0, LANES_STREAMS, LANES_COUNTERS, LANES_DRIVERS, LANE_CLASSES };

struct lanes_wanted {
	bool of[LANE_CLASSES];
	const bool *rows;  /* lanes that have one of these; NULL: all */
	size_t skip, most; /* of each class */
};

struct lanes {
	bool *rows;		    /* by number: those of the lanes that were chosen */
	size_t count[LANE_CLASSES]; /* all lanes that are wanted, but for skip and most */
};

/* "threads", "streams", "counters", "drivers" */
const char *lane_class_name(enum lane_class c);
/* 0, or -ENOMEM with error_text and nothing to release. */
int lanes_choose(
	struct lanes *ret, const struct timeline_rows *rows, const struct lanes_wanted *wanted);
void lanes_release(struct lanes *l);
