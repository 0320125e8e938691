/* SPDX-License-Identifier: MIT */
/*
 * What walkers inside of processes have to know, and what they send back: the interface between
 * src/capture/, which follows what processes map, and src/gpu/, whose libraries walk their own
 * stacks.
 *
 *	capture  --- walker_news: what is mapped where, unwind tables --->  gpu  --->  the libraries
 *	capture  <-- stack_resolver: stacks as they were walked ----------  gpu  <---
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct walk_mapping;
struct walk_python;
struct walk_python_frame;

/* Code was mapped into a process, at `time_ns` or later. */
struct code_change {
	uint32_t pid; /* 0: into any */
	uint64_t time_ns;
	bool replaced; /* over other code: what addresses meant is void */
};

/* What a walker inside a process needs to know (walk/). Pointers are valid during the call. */
struct walker_space {
	uint32_t pid;
	uint32_t generation;		     /* changes with it */
	const struct walk_mapping *mappings; /* sorted */
	uint32_t mapping_count;		  /* 0: the process is gone, or runs another program now */
	const struct walk_python *python; /* NULL: no interpreter */
};

/* A stack that was walked inside a process (walk/frame.h). */
struct walked_stack {
	uint32_t pid;
	uint32_t walk_end;   /* enum walk_end */
	uint32_t generation; /* of the walker_space that it was walked by; 0: not known */
	uint64_t time_ns;
	const uint64_t *user;
	const struct walk_python_frame *python;
	uint32_t user_depth;
	uint32_t python_depth;
	bool python_incomplete; /* Python's chain was not followed to its end */
	bool doubtful;		/* code may have been mapped that the walk did not know */
	bool unloaded;		/* and what it knew may have come and gone */
};

/* Who receives what walkers have to know. Each function returns 0 or -errno, which stops the
 * recording. With all NULL nobody is interested. */
struct walker_news {
	void *context;
	int (*code_mapped)(void *context, const struct code_change *change);
	/* Comes whenever it changed. */
	int (*space)(void *context, const struct walker_space *space);
	/* A chunk of the unwind tables' words: a descriptor that stays the sender's. */
	int (*table_chunk)(void *context, uint32_t index, int fd);
	/* The program that a process ran is over (exit, exec), and what it mapped is about to be
	 * forgotten: stacks that were walked in it have to be resolved now. */
	int (*leaves)(void *context, uint32_t pid);
};

/* Who makes stacks of the profile of walked ones. Each function returns 0 or -errno. With all NULL
 * there are no stacks. */
struct stack_resolver {
	void *context;
	/* The library in this process asks for what its stacks need, as the process maps it now.
	 * When it `begins` it is ready to report calls, and waits for us: tables are to be made
	 * ready, as far as that takes no time that a program would mind. */
	int (*prepare)(void *context, uint32_t pid, bool begins);
	/* *ret_stack: the profile's id, 0: none. *ret_incomplete: as in gpu_launch; whoever uses
	 * the stack counts it, for each use (profile_count_incomplete). */
	int (*resolve)(void *context, const struct walked_stack *s, uint32_t *ret_stack,
		uint32_t *ret_incomplete);
	/* No library is left in this process, unless a new one asks (prepare). */
	int (*done)(void *context, uint32_t pid);
};
