/* SPDX-License-Identifier: MIT */
/*
 * How long at least one of many intervals was running: the length of their union.
 *
 * Intervals may come in any order; they usually come nearly sorted. Memory is bounded: the newest
 * BUSY_WINDOW gaps between intervals are kept, and the time before them is settled. Of an interval
 * that reaches back into settled time, nobody can say which part was counted there. That part is
 * not counted; its length is added to *ret_uncertain_ns. The total is exact when that is 0, and
 * otherwise too small by at most that much.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define BUSY_WINDOW ((size_t)1 << 18)

struct busy_interval {
	uint64_t start_ns;
	uint64_t end_ns;
};

struct busy {
	struct busy_interval *runs; /* sorted, with gaps between them */
	size_t run_count, run_capacity;
	struct busy_interval *late; /* that began before the latest run; in order of arrival */
	size_t late_count, late_capacity;
	size_t window;	      /* runs to remember; 0: BUSY_WINDOW */
	uint64_t settled_ns;  /* length of the runs that were forgotten */
	uint64_t settled_end; /* where the last of them ended */
	uint64_t uncertain_ns;
};

#define BUSY_INIT ((struct busy){0})

void busy_release(struct busy *b);
/* 0 or -ENOMEM. An interval that ends before it starts is empty. */
int busy_add(struct busy *b, uint64_t start_ns, uint64_t end_ns);
/* The length of the union so far: 0 or -ENOMEM. */
int busy_total(struct busy *b, uint64_t *ret_busy_ns, uint64_t *ret_uncertain_ns);
