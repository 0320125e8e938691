/* SPDX-License-Identifier: MIT */
/*
 * Decides whether a stack reaches its root: whether its outermost frame is one of those that every
 * thread begins with (unwind/thread_start.h).
 *
 * A frame pointer of 0 at the end proves nothing: the start-up code clears the register, and code
 * built without frame pointers leaves it alone, so that a walk through any such code also ends in
 * 0, with the callers missing.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "capture/modules.h"

struct roots;

/* NULL when memory is short. `files` outlives it, or is not pumped any more. */
struct roots *roots_new(struct files *files);
void roots_free(struct roots *r);
enum root_answer {
	ROOT_NO, /* also where the file cannot be read */
	ROOT_YES,
	ROOT_NOT_KNOWN_YET, /* the file is being read */
};

/* Whether the call before `offset` (in this file; a return address) was made by a function that
 * begins a thread, or whether a thread that is interrupted at `offset` is just about to begin.
 * `pid` is a process that has the module mapped, if it still lives. 0 or an error that ends the
 * recording. */
int roots_ask(struct roots *r, const struct module *module, uint32_t index, uint32_t pid,
	uint64_t offset, enum root_address at, enum root_answer *ret);
