/* SPDX-License-Identifier: MIT */
/*
 * Stacks that the recorder knows already.
 *
 * Nearly all launches repeat one of a few paths, and a probe at every launch costs more than all the rest
 * of recording it. So the launch path reads the chain of frame pointers itself (a load or two a frame),
 * compares the whole of it with the chains seen before, and when it is one whose stack the recorder has
 * confirmed, sends its number through the ring instead of firing the marker.
 *
 * Exact: the numbers are compared address by address, never by hash alone; a number counts only after
 * the recorder has taken the stack at a marker that carried it; and the recorder takes its confirmation
 * back when code in this process is mapped over other code.
 *
 * Safe: only memory between the caller's own frame and the end of this thread's stack is read. Where that
 * end is, our own thread finds out in /proc/self/maps; until then, and on stacks it does not know
 * (coroutines, fibers), the marker fires as ever.
 *
 * Called from any thread of the program: no locks to wait for, no allocation, no system call.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Reserves address space: 0 or -errno. */
int stacks_init(void);

/* The number of the present stack, from the frame at `frame` (__builtin_frame_address) outwards, or 0 when
 * it cannot have one; *ret_known: the recorder has it. */
uint32_t stacks_find(const void *frame, bool *ret_known);

/* Finds the ends of stacks that threads have asked for, and what is code. From our own thread, every
 * round. */
void stacks_answer(void);
