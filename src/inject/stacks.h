/* SPDX-License-Identifier: MIT */
/*
 * The stacks of launches, told by the library itself.
 *
 * The launch path walks its own stack (unwind.h). Nearly all launches repeat one of a few thousand paths, so the
 * chain of frames is looked up among those met before, compared word by word: a new one gets a number and is sent
 * whole, once; from then on a launch is told by that number.
 *
 * What cannot be walked to its end in here (a stack whose end is not known, code whose table is not ready) is left
 * to the launch marker, where the probe takes the stack. When there is no marker the stack is sent as far as it goes,
 * and on a stack whose end is not known the kernel is asked for every word.
 *
 * A number is never used for another chain, nor for the same addresses once other code was mapped there: a chain
 * belongs to a code_epoch, and the recorder has the moment at which that ended, and by which list of mappings a stack
 * was walked. So what we tell after such a change, before we hear of it, is cut off where the code was another.
 *
 * Called from any thread of the program: no locks to wait for, no allocation, and no system call but those that are
 * told here and in own_stack.h, and one that wakes our thread when a stack with new Python frames is told.
 */
#pragma once

#include <stdbool.h>

#include "wire/wire.h"

/* Reserves address space: 0 or -errno. */
int stacks_init(void);

/* Tells a launch with the stack that leads to the function with this frame (__builtin_frame_address), from its
 * caller outwards. All of `launch` but its stack is filled in. False: it was not told. */
bool stacks_tell(const void *frame, struct wire_launch *launch);
