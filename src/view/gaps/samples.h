/* SPDX-License-Identifier: MIT */
/*
 * What a thread did in a gap in GPU work, before it launched the next work, by its CPU samples.
 *
 * A sample's stack is compared with the stack of the launch, function by function from the root:
 *
 *	launch    main  train  forward  linear
 *	sample    main  train  next  fetch  __getitem__  perf_counter
 *	                       what the thread did instead of launching
 *
 * The innermost function is the innermost one of the program: code of the kernel, of the C library
 * and of the interpreter works for its caller.
 */
#pragma once

#include "view/gaps/events.h"
#include "view/names/internals.h"

/* In the order in which the first of equally frequent ones counts. */
enum gap_activity {
	/* a function that the launch is not in is of code that loads data: see samples.c */
	ACTIVITY_INPUT,
	ACTIVITY_PYTHON, /* else: the innermost function is Python's */
	ACTIVITY_CALLED, /* else: a Python function that the launch is not in called native code */
	ACTIVITY_NATIVE, /* else: the innermost function is one that the launch is not in */
	ACTIVITY_LAUNCH, /* else: it is one that leads to the launch */
	ACTIVITIES
};

/* What stacks are compared by. Of a profile whose names are final; holds on to both. */
struct gap_stacks {
	const struct internals *internals;
	const uint32_t *merged; /* by stack, see launch_path_merge */
	/* by location: 0 not looked at yet, 1 it is not, 2 it is of code that loads data */
	uint8_t *loads;
};

struct gap_seen {
	uint64_t count;		 /* samples */
	uint64_t of[ACTIVITIES]; /* of these */
	/* one of the most frequent, up to its innermost function (for input: Python's) */
	uint32_t stacks[ACTIVITIES];
};

/* 0 or -ENOMEM; release it in either case. */
int gap_stacks_init(
	struct gap_stacks *s, const struct internals *internals, const uint32_t *merged);
void gap_stacks_release(struct gap_stacks *s);

/* The samples of a thread in a stretch of time, before a launch from the stack `launch`. */
struct gap_seen gap_samples_look(const struct gap_stacks *s, const struct gap_events *e,
	uint32_t thread, uint32_t launch, uint64_t from_ns, uint64_t until_ns);
