/* SPDX-License-Identifier: MIT */
/*
 * What can be asked of a view: which part of the recording, which groups, which frames to keep,
 * what a width is. A view needs
 * this header and result.h, not the table of views (view/view.h).
 */
#pragma once

#include <stdbool.h>

#include "view/range/range.h"

/* Grouping frames to add, in this order from the root. Devices and streams stand above the API
 * call. */
enum {
	VIEW_BY_PROCESS = 1 << 0,
	VIEW_BY_THREAD = 1 << 1,
	VIEW_BY_DEVICE = 1 << 2,
	VIEW_BY_STREAM = 1 << 3,
};

/* Under which stack the work of a graph stands. */
enum view_graph_stack {
	VIEW_GRAPH_LAUNCH = 0, /* where the graph was launched */
	VIEW_GRAPH_CAPTURE,    /* where its node was made */
	VIEW_GRAPH_BOTH,       /* the second above the first */
};

/* What the width of a frame is. */
enum view_weight {
	VIEW_WEIGHT_TIME = 0,
	VIEW_WEIGHT_SAMPLES, /* instruction samples */
	VIEW_WEIGHT_BLOCKS,  /* the time of blocks, of all multiprocessors together */
};

struct view;
struct slice_sums;
struct code_tree;
struct stalls_kept;
struct wall_kept;
struct calls_kept;

struct view_options {
	const struct view *view; /* NULL: the first of the table */
	unsigned int by;	 /* VIEW_BY_* */
	enum view_graph_stack graph_stack;
	bool api_frames;	 /* keep the frames inside the GPU vendor's libraries */
	bool inlines;		 /* show inlined functions as frames, where the profile has them */
	bool native_python;	 /* keep the frames inside Python's interpreter */
	bool brief_waits;	 /* one frame of the kernel in which a thread waits */
	bool lines;		 /* distinguish the lines of a function */
	enum view_weight weight; /* samples: of views that show stalls; blocks: of GPU work */
	/* of these only samples of cycles in which the scheduler issued nothing */
	bool latency;
	bool reverse; /* from the leaf to the root, see view/tree/reverse.h */
	/* Views of many stacks may have nodes of one path several times, and not as children: the
	 * tree is only turned round. */
	bool loose;
	/* Views of many stacks may leave out the smallest frames where there are more; 0: none.
	 * See view_result.least. */
	size_t node_max;
	struct range_wanted range;
	/* of the same recording, as range.known says; NULL: everything is read from the file */
	const struct slice_sums *sums;
	struct code_tree *codes;    /* of these sums */
	struct stalls_kept *stalls; /* of what is kept with them; NULL: so too */
	struct wall_kept *wall;	    /* so too, with the stalls */
	struct calls_kept *calls;   /* so too */
};

/* For views by thread: the groups of the options, or processes and threads where these name none of
 * the two. */
unsigned int view_by_task(const struct view_options *o);
