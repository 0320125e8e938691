/* SPDX-License-Identifier: MIT */
/*
 * Where the stack of the present thread ends. Our own thread finds out in /proc/self/maps. Until
 * then the end is unknown, and so it is on other stacks (coroutines, fibers, signal stacks).
 *
 * Any thread of the program asks, without waiting for locks and without allocation. Each thread
 * makes one system call in its life, which wakes ours.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Reserves address space: 0 or -errno. */
int stack_end_init(void);
/* Gives it back. */
void stack_end_release(void);
/* The end of the stack that `frame` is in, when that is this thread's own; 0: unknown (so far). All
 * from `frame` up to it can be read. */
uintptr_t stack_end_of(uintptr_t frame);
/* Answers what threads have asked. Called by our own thread, every round, and by inject_begin's
 * before ours runs. */
void stack_end_answer(void);
