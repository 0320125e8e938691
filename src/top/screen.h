/* SPDX-License-Identifier: MIT */
/*
 * A moment as lines of text, for a terminal or for a file:
 *
 *	what is watched, and totals
 *	each GPU: busy, and why it was idle
 *	which GPU work is not seen, and why; what was lost
 *	tables of processes, GPU work and stacks, the longest first
 *
 * Where there is a limit of rows, the tables share what the lines above leave, and none takes more
 * than it has. Names are made printable, and no line is longer than the limit of columns.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "top/moment.h"

enum screen_sort {
	SCREEN_BY_TIME = 0, /* on CPUs and GPUs together */
	SCREEN_BY_CPU,
	SCREEN_BY_GPU,
	SCREEN_BY_COUNT, /* launches, and pieces of GPU work */
	SCREEN_SORTS
};

struct screen_options {
	const char *subject;  /* "the whole system" */
	const char *hint;     /* for the second line; NULL: none */
	const char *messages; /* lines that the recorder said; NULL: none */
	enum screen_sort sort;
	unsigned int columns, rows; /* 0: no limit */
	size_t top;		    /* rows of each table where there is no limit of rows */
	bool colour;
};

/* "time", "cpu", ... */
const char *screen_sort_name(enum screen_sort sort);
/* 0 or -EINVAL with error_text. */
int screen_sort_parse(const char *text, enum screen_sort *ret);

/* Appends the lines. When memory is short `out` is left failed. Sorts the rows of the moment. */
void screen_draw(struct moment *m, const struct screen_options *o, struct buf *out);
