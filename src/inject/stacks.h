/* SPDX-License-Identifier: MIT */
/*
 * Stacks that the recorder knows already.
 *
 * Nearly all launches repeat one of a few paths, and a probe at every launch costs more than all the rest
 * of recording it. So the launch path reads the chain of frame pointers itself (a load or two a frame),
 * compares the whole of it with the chains seen before, and when it is one whose stack the recorder has
 * confirmed, sends its number through the ring instead of firing the marker.
 *
 * Exact:
 *  - chains are compared address by address, never by hash alone;
 *  - a number stands for the chain and for nothing further out: the marker that carries it also says how many
 *    frames that is, and the recorder takes no more of what it finds on the stack;
 *  - it counts once the recorder has taken that stack, at a moment when both saw the same code
 *    (code_generation);
 *  - it is never used for another chain, nor for the same addresses once other code was mapped there: a chain
 *    belongs to a code_epoch, and the recorder has the moment at which that ended, so that a launch we told
 *    of by number after it, before we heard of it, goes without a stack.
 *
 * Safe: only memory between the caller's own frame and the end of this thread's stack is read, and only if
 * that frame lies in this stack. Where it lies, our own thread finds out in /proc/self/maps; until then, and
 * on other stacks (coroutines, fibers, signal stacks), the marker fires as ever.
 *
 * Called from any thread of the program: no locks to wait for, no allocation, no system call.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Reserves address space: 0 or -errno. */
int stacks_init(void);

struct stack_name {
	uint32_t number;     /* 0: it cannot have one */
	uint32_t depth;      /* return addresses it stands for */
	uint32_t generation; /* of the code they were found among */
	bool known;          /* the recorder has it */
};

/* The name of the present stack, from the frame at `frame` (__builtin_frame_address) outwards. */
struct stack_name stacks_find(const void *frame);

/* Finds the ends of stacks that threads have asked for, and what is code. From our own thread, every
 * round. */
void stacks_answer(void);
