/* SPDX-License-Identifier: MIT */
/*
 * The stacks of a profile as paths in a tree: each location becomes one frame, and a stack that was
 * added before is found again at once.
 *
 * The leaf end of a launching stack lies inside a GPU vendor's libraries, and is the same for every
 * launch. It can be cut off, to be replaced by the name of the call. What runs Python
 * code is left out (internals.h).
 *
 * Use after the last event was read, when names are final. Owned by the caller; holds on to the
 * reader and the tree.
 */
#pragma once

#include "base/buf.h"
#include "base/map.h"
#include "profile/reader.h"
#include "view/names/internals.h"
#include "view/names/location_text.h"
#include "view/tree/tree.h"

struct stacks_options {
	bool lines;	    /* distinguish the lines of a function */
	bool inlines;	    /* frames of inlined functions, too */
	bool native_python; /* keep the inside of Python's interpreter */
};

struct stacks {
	const struct profile_reader *reader;
	struct tree *tree;
	struct location_texts texts;
	struct internals internals;
	uint32_t *frame_of_location; /* frame + 1 */
	uint32_t *frame_of_inline;   /* the same; NULL: inlined functions are no frames */
	uint8_t *gpu_library;	     /* by module: 0 not looked up yet, 1 no, 2 yes */
	/* by string: whether a location has this name; made for the first stack of a call */
	uint8_t *names;
	uint32_t *frame_of_module; /* the same, of all functions without a name in it */
	/* base node << 32 | stack -> node: where nothing of the program follows it on the way to
	 * the leaf, and where something does (internals_at_end) */
	struct map nodes, inner_nodes;
	/* the former for the first base of all: node + 1, by stack; mostly there is no other */
	uint32_t *first_nodes, first_base, stack_count;
	uint32_t *path;
	size_t path_capacity;
	struct buf text;
};

/* 0 or -errno with error_text; release it in either case. */
int stacks_init(struct stacks *s, const struct profile_reader *r, struct tree *t,
	const struct stacks_options *o);
void stacks_release(struct stacks *s);

/* The node of `stack` above `base`; `base` itself for stack 0. */
int stacks_add(struct stacks *s, uint32_t base, uint32_t stack, uint32_t *ret_node);

/*
 * The part of a launching stack that is the program's own. Cut off at the leaf end are
 *
 *	- frames in a GPU vendor's libraries, and kernel frames below them
 *	- a frame named as the call (`api`, a string; 0: not known) and all below it: the program
 *	  may have the vendor's
 *	  runtime linked in
 *	- what a compiler put between the program and the call (vendor_is_launch_stub)
 *
 * *ret_call is the location of the last frame of the call that was cut off, seen from the leaf;
 * 0: none was.
 */
uint32_t stacks_cut_call(struct stacks *s, uint32_t stack, uint32_t api, uint32_t *ret_call);

/* The stack of a thread that did not run, without the kernel frames at its leaf end that every such
 * stack has: the scheduler (schedule_timeout, schedule, __schedule, ...) and what it was recorded
 * by. */
uint32_t stacks_cut_scheduler(const struct stacks *s, uint32_t stack);

/* The node of a stack above `base` with one frame at most for the kernel's at its leaf end: the
 * system call, else the first (a page fault). */
int stacks_add_brief(struct stacks *s, uint32_t base, uint32_t stack, uint32_t *ret_node);
