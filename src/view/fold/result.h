/* SPDX-License-Identifier: MIT */
/*
 * What a view makes of a profile: a tree of frames, and facts and remarks that its reader needs
 * beside it.
 *
 * A result owns its tree and texts; view_result_release frees them. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "view/fold/folded.h"
#include "view/fold/options.h"
#include "view/tree/tree.h"

/* Which events a view is about. */
enum {
	VIEW_SHOWS_CPU = 1 << 0,
	VIEW_SHOWS_GPU = 1 << 1,
	VIEW_SHOWS_STALLS = 1 << 2, /* what GPU time was spent on: has `weight` and `latency` */
	VIEW_SHOWS_WAITS = 1 << 3,
	VIEW_SHOWS_CALLS = 1 << 4, /* and nothing else */
};

enum view_unit {
	VIEW_NS = 0,
	VIEW_US,
	VIEW_COUNT, /* plain numbers: a folded text does not name its unit */
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
	unsigned int shows; /* VIEW_SHOWS_* */
	/* Frames with less time were left out (view_options.node_max); 0: none. Their time is in
	 * the tree (TREE_LEFT_OUT). */
	uint64_t least;
	uint64_t left_out;   /* how many at least */
	uint64_t elapsed_ns; /* of the recording, or the part of it that is shown; 0: not known */
	char *range;	     /* which part that is; NULL: all */
	/* what the one time of the tree is called (view_one_time); NULL: it has CPU and GPU time */
	const char *time;
	/* what the view is about and the recording does not have: "samples of instructions";
	 * NULL */
	const char *lacking;
	const char *help;	    /* then: what helps */
	bool simulated;		    /* some GPU in it was simulated */
	char *title;		    /* of the recorded command, or NULL */
	char *incomplete;	    /* why the profile is not whole, or NULL */
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

void view_result_release(struct view_result *v);
/* For views: adds a sentence; 0 or -ENOMEM with error_text. */
int view_remark(struct view_result *v, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* The same with a fact; neither name nor value has characters that JSON or XML escape. */
int view_fact(struct view_result *v, const char *name, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* The same with "12.3 %"; nothing where there is no whole. */
int view_share(struct view_result *v, const char *name, uint64_t part, uint64_t whole);
/* For views of elapsed time of threads: the tree has one time, not CPU and GPU time, and this is
 * its name. */
void view_one_time(struct view_result *v, const char *name);
/* For views by thread, after the tree was filled. If there are too many threads to be read, and `o`
 * asks neither for processes nor for threads, adds a fact that names --by process. 0 or -ENOMEM
 * with error_text. */
int view_many_threads(struct view_result *v, const struct view_options *o);
