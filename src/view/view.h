/* SPDX-License-Identifier: MIT */
/*
 * Views: ways to fold a profile into one tree of frames. One file and one row in the table of
 * view.c each (docs/howto-add-a-view.md).
 *
 * A result owns its tree and texts; view_result_release frees them. One thread at a time.
 */
#pragma once

#include "base/vec.h"
#include "profile/reader.h"
#include "view/fold/folded.h"
#include "view/tree/tree.h"

/* Grouping frames to add, in this order from the root. Devices and streams stand above the CUDA
 * call. */
enum {
	VIEW_BY_PROCESS = 1 << 0,
	VIEW_BY_THREAD = 1 << 1,
	VIEW_BY_DEVICE = 1 << 2,
	VIEW_BY_STREAM = 1 << 3,
};

/* Under which stack the work of a CUDA graph stands. */
enum view_graph_stack {
	VIEW_GRAPH_LAUNCH = 0, /* where the graph was launched */
	VIEW_GRAPH_CAPTURE,    /* where its node was made */
	VIEW_GRAPH_BOTH,       /* the second above the first */
};

/* What the width of a frame is. */
enum view_weight {
	VIEW_WEIGHT_TIME = 0,
	VIEW_WEIGHT_SAMPLES, /* instruction samples */
};

struct view;

struct view_options {
	const struct view *view; /* NULL: the first of the table */
	unsigned int by;         /* VIEW_BY_* */
	enum view_graph_stack graph_stack;
	bool cuda_frames;   /* keep the frames inside CUDA's own libraries */
	bool inlines;	    /* show inlined functions as frames, where the profile has them */
	bool native_python; /* keep the frames inside Python's interpreter */
	bool lines;         /* tell the lines of a function apart */
	enum view_weight weight; /* other than time: for views that show stalls */
	bool latency;       /* of these only samples of cycles in which the scheduler issued nothing */
	bool reverse;       /* from the leaf to the root, see tree_reverse */
};

/* Whether an option is set that needs to know more than a tree of frames does (reverse does not). */
bool view_options_any(const struct view_options *o);

enum view_unit {
	VIEW_NS = 0,
	VIEW_US,
	VIEW_COUNT, /* plain numbers: a folded text does not say what it counts */
	VIEW_SAMPLES,
	VIEW_UNITS
};

struct view_fact {
	char *name;  /* "instruction samples" */
	char *value; /* "1234" */
};

struct view_result {
	struct tree *tree;
	enum view_unit unit;
	unsigned int shows;  /* VIEW_SHOWS_* */
	uint64_t elapsed_ns; /* of the recording; 0: not known */
	const char *time;    /* what the one time of the tree is called (view_one_time); NULL: it has CPU and GPU time */
	const char *lacking; /* what the view is about and the recording does not have: "samples of instructions"; NULL */
	const char *help;    /* then: what helps */
	bool simulated;      /* some GPU in it was simulated */
	char *title;         /* the recorded command, or NULL */
	char *incomplete;    /* why the profile is not whole, or NULL */
	struct folded_stats folded; /* of a folded text */
	struct {
		struct view_fact *items;
		size_t count, capacity;
	} facts; /* for the head of a picture */
	struct {
		char **items;
		size_t count, capacity;
	} remarks; /* sentences: everything lost, without a stack or without work */
};

/* Which events a view is about. */
enum {
	VIEW_SHOWS_CPU = 1 << 0,
	VIEW_SHOWS_GPU = 1 << 1,
	VIEW_SHOWS_STALLS = 1 << 2, /* what GPU time was spent on: has `weight` and `latency` */
	VIEW_SHOWS_WAITS = 1 << 3,
};

struct view {
	const char *name;
	const char *summary;
	unsigned int shows; /* VIEW_SHOWS_* */
	/* Reads all events, fills `ret->tree` and `ret->remarks`: 0 or -errno with error_text. */
	int (*build)(struct profile_reader *r, const struct view_options *o,
		struct view_result *ret);
};

/* The view of the options, the table's first when they name none. */
const struct view *view_of(const struct view_options *o);

/* NULL when there is none of that name. */
const struct view *view_by_name(const char *name);
/* "process,device" to VIEW_BY_* bits; "launch" and the like. 0, or -EINVAL with error_text. */
int view_parse_by(const char *text, unsigned int *ret_by);
int view_parse_graph_stack(const char *text, enum view_graph_stack *ret);

/* Reads a profile, or a folded text (recognized by its contents; "-" is standard input), into a
 * sorted tree: 0, or -errno with error_text and nothing to release. */
int view_read(const char *path, const struct view_options *o, struct view_result *ret);
/* Whether the profile, read to its end, says that some GPU was simulated. */
bool view_is_simulated(const struct profile_reader *r);
void view_result_release(struct view_result *v);
/* For views: adds a sentence; 0 or -ENOMEM with error_text. */
int view_remark(struct view_result *v, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* The same with a fact; neither name nor value has characters that JSON or XML escape. */
int view_fact(struct view_result *v, const char *name, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* The same with "12.3 %"; nothing where there is no whole. */
int view_share(struct view_result *v, const char *name, uint64_t part, uint64_t whole);
/* For views of what passed by the clocks of threads: there is one time, and this is its name. */
void view_one_time(struct view_result *v, const char *name);
/* For views by thread: the groups of the options, or processes and threads where these name none of the two. */
unsigned int view_by_task(const struct view_options *o);
/* For the same, after the tree was filled: a fact that tells of --by process, where so many threads stand beside each other
 * that none can be read and nobody asked for that (`o`: what was asked for). 0 or -ENOMEM with error_text. */
int view_many_threads(struct view_result *v, const struct view_options *o);
