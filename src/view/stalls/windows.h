/* SPDX-License-Identifier: MIT */
/*
 * Which launches ran in which window of instruction samples, and for how long. For stalls.c, which
 * numbers kernels and launches; all numbers are dense from 0.
 *
 * Works come in any order, and a window may come before or after the works in it. A work is kept
 * until windows wholly cover it; then it only counts in cells, one for each (window, launch).
 * Windows are stretches of time [start, end); those of one context may overlap.
 *
 * To save memory windows can be joined: 2^level windows of a context that came one after the other
 * then count as one, which has the id of the first. Exact windows never are.
 *
 * Owned by the caller. One thread at a time.
 */
#pragma once

#include <stdbool.h>

#include "base/map.h"
#include "base/vec.h"
#include "profile/reader.h"

/* For how long a launch ran in a window. */
struct stall_cell {
	uint32_t window; /* id */
	uint32_t launch;
	uint32_t kernel;
	uint64_t time_ns; /* at least 1 */
};

/* The part of a launch that one correlation id names, in exact windows. */
struct stall_exact {
	uint64_t id; /* instance << 32 | correlation */
	uint32_t launch;
	uint64_t time_ns; /* at least 1 */
};

struct stall_span {
	uint64_t start_ns, end_ns;
	uint64_t reach_ns; /* the latest end of this and all before */
	uint32_t window;
};

struct stall_context {
	struct vec(struct stall_span) spans; /* by start, once sorted */
	struct vec(uint32_t) windows;	     /* ids, in the order in which they came */
	bool unsorted;
	bool exact; /* some window of it is */
};

/* A work that waits for its windows. */
struct stall_work {
	uint64_t start_ns, end_ns;
	uint32_t launch, context;
	uint64_t id; /* as in stall_exact */
};

struct stall_windows {
	const struct profile_reader *reader;
	struct map devices;	/* process << 32 | device -> number */
	struct map context_ids; /* that number << 32 | the API's context -> number of the context */
	struct vec(struct stall_context) contexts;
	struct vec(uint32_t) context_of; /* by window id: its context; [0] is nothing */
	struct vec(uint32_t) number_of;	 /* by window id: where in its context's windows */
	unsigned int level;
	struct vec(struct stall_work) works;
	size_t work_limit; /* more than that many are looked at again */
	struct map time;   /* window << 32 | launch -> ns */
	/* After stall_windows_finish: */
	struct stall_cell *cells; /* by window, kernel, launch */
	size_t cell_count;
	struct vec(struct stall_exact) exact; /* by id, launch */
	uint32_t *span_of;		      /* by window id: index of its context's spans */
};

/* Works that are kept waiting; beyond that the oldest count only in the windows read so far. */
#define STALL_WORKS_MAX ((size_t)4 << 20)

void stall_windows_init(struct stall_windows *w, const struct profile_reader *r);
void stall_windows_release(struct stall_windows *w);
/* All: 0 or -ENOMEM with error_text. */
/* Adds the windows that the profile has by now. */
int stall_windows_update(struct stall_windows *w);
/* The id of a window that was added, as it is joined with others. */
uint32_t stall_windows_joined(const struct stall_windows *w, uint32_t window);
/* The number of a context of a process. */
int stall_windows_context(struct stall_windows *w, uint32_t process, uint32_t device,
	uint32_t context, uint32_t *ret);
/* The period in all windows of a context, in cycles; 0: it has none. */
uint64_t stall_windows_period(const struct stall_windows *w, uint32_t context);
int stall_windows_add_work(struct stall_windows *w, uint32_t context, uint32_t launch,
	const struct profile_work *work);
/* After the last event; `kernels`: by launch. */
int stall_windows_finish(struct stall_windows *w, const uint32_t *kernels);

/* Windows are as they are joined from here on. */
/* The cells of a kernel in a window: how many. */
size_t stall_windows_cells(const struct stall_windows *w, uint32_t window, uint32_t kernel,
	const struct stall_cell **ret);
/* The same by correlation, of all kernels. */
size_t stall_windows_exact(const struct stall_windows *w, uint32_t instance, uint32_t correlation,
	const struct stall_exact **ret);
/* The window of the same context before or after this one; 0: none. */
uint32_t stall_windows_before(const struct stall_windows *w, uint32_t window);
uint32_t stall_windows_after(const struct stall_windows *w, uint32_t window);
