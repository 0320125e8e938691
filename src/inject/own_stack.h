/* SPDX-License-Identifier: MIT */
/*
 * Where the stack of the present thread ends. Our own thread finds out in /proc/self/maps; until then, and on other
 * stacks (coroutines, fibers, signal stacks), nothing is known.
 *
 * Asked from any thread of the program: no locks to wait for, no allocation, and one system call in each thread's
 * life, which wakes ours.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Reserves address space: 0 or -errno. */
int own_stack_init(void);
/* The end of the stack that `frame` is in, when that is this thread's own; 0: not known (so far). All from `frame`
 * up to it can be read. */
uintptr_t own_stack_end(uintptr_t frame);
/* Answers what threads have asked. From our own thread, every round, and from the one that begins before there is
 * ours. */
void own_stack_answer(void);
