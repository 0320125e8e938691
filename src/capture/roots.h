/* SPDX-License-Identifier: MIT */
/*
 * Decides whether a stack reaches its root: whether its outermost frame is one of those that every
 * thread begins with.
 *
 * A frame pointer of 0 at the end proves nothing: the start-up code clears the register, and code
 * built without frame pointers leaves it alone, so that a walk through any such code also ends in
 * 0, with the callers missing. Names do not help either, since libc is usually stripped of them.
 * What cannot be stripped is the code at the return address: see roots_x86_64.c.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "capture/modules.h"

struct roots;

/* What the address of a stack's outermost frame is. */
enum root_address {
	ROOT_RETURN_ADDRESS,
	ROOT_INTERRUPTED, /* at the very instruction */
	/* and nothing can be read where the caller should be: a new thread has not used its stack
	 * yet */
	ROOT_INTERRUPTED_NO_STACK,
};

/* NULL when memory is short. */
struct roots *roots_new(void);
void roots_free(struct roots *r);
/* True when the call before `offset` (in this file; a return address) was made by a function that
 * begins a thread, or when a thread that is interrupted at `offset` is just about to begin. `pid`
 * is a process that has the module mapped, if it still lives. Files that cannot be read: false. */
bool roots_reached(struct roots *r, const struct module *module, uint32_t index, uint32_t pid,
	uint64_t offset, enum root_address kind);
