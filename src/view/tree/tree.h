/* SPDX-License-Identifier: MIT */
/*
 * A tree of frames with time on it: what every view produces and every picture or table is made
 * from.
 *
 *	frames   distinct (kind, number, name), dense ids from 0
 *	nodes    a frame under a parent, with children and time of its own; dense ids from 0, the root
 *
 * A node's id is always greater than its parent's, so a pass from the last node to the first sees
 * children before parents. A node's own time (tree_self) was spent in it and in none of its
 * children. It is CPU time or GPU time, never a mixture: GPU time where the frame of the node, or
 * of one below it, is of a GPU kind. The two are kept apart in all totals, because work on a GPU
 * runs beside the CPU; only the *width* of a frame in a picture is their sum. In a tree of what
 * passed by the clocks of threads there is one time only, and all of it counts as CPU time
 * (tree_join_times).
 *
 * Made for millions of nodes: 16 bytes each, 8 more where there is time, and an index only for
 * nodes with many children. Owned by whoever called tree_new; one thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/intern.h"

enum tree_kind {
	TREE_ROOT = 0,
	TREE_PROCESS, /* number: pid */
	TREE_THREAD,  /* number: tid */
	TREE_DEVICE,  /* number: device_number */
	TREE_STREAM,  /* number: stream */
	TREE_PYTHON,
	TREE_CXX, /* native code with a mangled or qualified name: C++, Rust */
	TREE_C,	  /* other native code: C, C++ without symbols */
	TREE_KERNEL,
	TREE_API, /* the API call that asked for the work above it */
	TREE_GPU_KERNEL,
	TREE_GPU_COPY,
	TREE_GPU_SET,
	TREE_GPU_PENDING, /* a launch whose work never came; carries no time */
	TREE_GPU_SOURCE,  /* directories, files and functions of GPU code */
	TREE_GPU_CODE,	  /* its instructions, why they wait, where they are */
	TREE_WAIT,	  /* why a thread did not go on */
	TREE_NOTE,	  /* not code: a remark about the stack */
	/* In comparisons, instead of all these: how the time of the second side differs. */
	TREE_DIFF_SAME, /* not, or within the noise */
	TREE_DIFF_LITTLE_MORE,
	TREE_DIFF_MORE,
	TREE_DIFF_MUCH_MORE,
	TREE_DIFF_AFTER, /* the first has none */
	TREE_DIFF_LITTLE_LESS,
	TREE_DIFF_LESS,
	TREE_DIFF_MUCH_LESS,
	TREE_DIFF_BEFORE, /* the second has none */
	/* What stands on a node and is too little to be shown. */
	TREE_LEFT_OUT,
	TREE_LEFT_OUT_GPU,
	TREE_KINDS
};

struct tree_frame {
	const char *name; /* NUL-terminated; of kernels the linker's name, of copies "HtoD" */
	uint32_t size;
	uint32_t number; /* see enum tree_kind; 0 elsewhere */
	enum tree_kind kind;
};

struct tree_node {
	uint32_t parent;       /* the root's is itself */
	uint32_t first_child;  /* 0: none */
	uint32_t next_sibling; /* 0: none */
	uint32_t frame : 30;
	uint32_t gpu : 1;  /* its own time (tree_self) is GPU time */
	uint32_t wide : 1; /* has more children than are looked through */
};

struct tree_time {
	uint64_t cpu;
	uint64_t gpu;
	uint64_t samples; /* that the CPU time is known from, where the tree has these */
};

/* By node; NULL where all are 0. */
struct tree_totals {
	uint64_t *cpu, *gpu, *samples;
};

static inline struct tree_time tree_totals_of(const struct tree_totals *totals, uint32_t node)
{
	return (struct tree_time){
		.cpu = totals->cpu ? totals->cpu[node] : 0,
		.gpu = totals->gpu ? totals->gpu[node] : 0,
		.samples = totals->samples ? totals->samples[node] : 0,
	};
}

/* A node without time. */
struct tree_path_node {
	uint32_t parent, frame;
};

struct tree_path {
	const uint32_t *frames;
	size_t count;
};

#define TREE_PATHS_MAX 32

struct tree;

#define TREE_ROOT_NODE 0u

/* Whether time on such a frame, and on all that stands on it, is GPU time. */
bool tree_kind_is_gpu(enum tree_kind kind);
/* A word for legends and tooltips ("C++, Rust", "kernel", "GPU kernel"). */
const char *tree_kind_name(enum tree_kind kind);

/* All functions that can fail return 0 or -errno with error_text. */
int tree_new(struct tree **ret);
void tree_free(struct tree *t);
/* Time on GPU frames is no other than that on the rest. Before the first node is added. */
void tree_join_times(struct tree *t);
bool tree_is_joined(const struct tree *t);

/* The frame's id, added when new. */
int tree_add_frame(struct tree *t, enum tree_kind kind, uint32_t number, const char *name,
	size_t size, uint32_t *ret_frame);
/* As tree_add_frame for texts whose kind follows from the text alone; `classify` is asked once for
 * each distinct text. The frames are the items' ids. Not to be mixed with tree_add_frame. */
int tree_add_texts(struct tree *t, struct interner_item *texts, size_t count,
	enum tree_kind (*classify)(const char *name, size_t size));
/* The child of `parent` with this frame, added when new. */
int tree_add_child(struct tree *t, uint32_t parent, uint32_t frame, uint32_t *ret_node);
/* For trees that are only turned round: a node that stands on its parent without being among its
 * children, beside others of the same frame. Nothing is looked up. */
int tree_add_loose(struct tree *t, uint32_t parent, uint32_t frame, uint32_t *ret_node);
/* Has the nodes of paths of frames, from the root on, brought into the caches as far as they are
 * there, for all paths at once. For speed only: nothing changes. At most TREE_PATHS_MAX. */
void tree_prefetch(const struct tree *t, const struct tree_path *paths, size_t count);
/* Adds time to a node; -EOVERFLOW when the tree's total would not fit 64 bits. */
int tree_add_time(struct tree *t, uint32_t node, uint64_t time);
/* Its own time. */
uint64_t tree_self(const struct tree *t, uint32_t node);

/* Says how many samples the time of a node is known from, beside tree_add_time. A tree where that
 * was said once has them for all its nodes. */
int tree_add_samples(struct tree *t, uint32_t node, uint64_t samples);
bool tree_has_samples(const struct tree *t);
/* Of its own. */
uint64_t tree_samples(const struct tree *t, uint32_t node);

/* Orders siblings by name (bytes), then kind and number: equal inputs give equal pictures. */
int tree_sort(struct tree *t);
/* A number that is less for frames that come first in this order. Those that were not there when
 * the tree was sorted come last. */
uint32_t tree_frame_rank(const struct tree *t, uint32_t frame);
/* Has what stands on nodes of these frames stand on their parents instead, with their time. The
 * nodes stay, without time or children. Not to be added to afterwards. */
void tree_dissolve(struct tree *t, bool (*is_chosen)(const struct tree_frame *));
/* Has time of nodes of a kind, their own, stand on a child with this frame instead. */
int tree_raise(struct tree *t, enum tree_kind kind, uint32_t frame);
/* Hands out what all nodes stand on, to be freed; the tree has its frames left. */
void tree_take_nodes(struct tree *t, struct tree_path_node **ret, uint32_t *ret_count);

/* How many nodes have less than 1, 2, 4, 8 ... */
struct tree_sizes {
	uint64_t of[65];
};

static inline void tree_sizes_add(struct tree_sizes *s, uint64_t time)
{
	s->of[time ? 64 - __builtin_clzll(time) : 0]++;
}

/* The least power of two below which nodes must be left out for at most `most` to be left; 1 where
 * all can stay. */
uint64_t tree_sizes_least(const struct tree_sizes *s, uint64_t most);
/* The node for such time of one of the kinds above. */
int tree_add_left_out_node(struct tree *t, uint32_t parent, bool gpu, uint32_t *ret_node);
/* Adds time on a node that is of frames that are left out, and samples that it is known from. */
int tree_add_left_out(struct tree *t, uint32_t node, const struct tree_time *time);
/*
 * Leaves out nodes with less time than that and what stands on them: it is in nodes of the kinds
 * above, which are no part of them. *ret_count: how many with time, without those.
 */
int tree_leave_out(struct tree *t, uint64_t least, uint64_t *ret_count);
bool tree_kind_is_left_out(enum tree_kind kind);
/* Self and everything above, of every node. Released also where init failed. */
int tree_totals_init(struct tree_totals *totals, const struct tree *t);
void tree_totals_release(struct tree_totals *totals);

size_t tree_node_count(const struct tree *t);
size_t tree_frame_count(const struct tree *t);
const struct tree_node *tree_nodes(const struct tree *t);
const struct tree_frame *tree_frames(const struct tree *t);
struct tree_time tree_total(const struct tree *t);

/*
 * Visits every node below the root in depth-first order, siblings in their present order, without
 * recursion. Start with tree_walk_begin; tree_walk_next returns false at the end. `depth` is 1 for
 * the root's children. With `skip_children` set before the next call, what is above the current
 * node is left out.
 */
struct tree_walk {
	const struct tree_node *nodes;
	uint32_t node;
	uint32_t depth;
	bool skip_children;
};

struct tree_walk tree_walk_begin(const struct tree *t);
bool tree_walk_next(struct tree_walk *w);
