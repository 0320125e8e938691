/* SPDX-License-Identifier: MIT */
/*
 * The stacks of launches, sent by the library itself.
 *
 * The launch path walks its own stack (unwind.h). Nearly all launches repeat one of a few thousand
 * paths. So the chain of frames is looked up among those met before, compared word by word. A new
 * one gets a number and is sent whole, once; from then on a launch is sent with that number.
 *
 * What cannot be walked to its end in here (a stack whose end is unknown, code whose table is not
 * ready) is left to the launch marker, where the probe walks the stack. Without a marker the stack
 * is sent as far as the walk came. If its end is unknown, the walk asks the kernel for every word.
 *
 * A number is never used for another chain, nor for the same addresses once other code was mapped
 * there: a chain belongs to a code_epoch. The recorder knows when an epoch ended, and by which list
 * of mappings a stack was walked. So it cuts off stacks that we send after such a change, before we
 * notice it, where the code was another.
 *
 * Called from any thread of the program: no locks to wait for, no allocation, and no system call
 * but those named here and in stack_end.h, and one that wakes our thread when a stack with new
 * Python frames is sent.
 */
#pragma once

#include <stdbool.h>

#include "wire/wire.h"

/* Reserves address space: 0 or -errno. */
int stacks_init(void);
/* Gives it back. */
void stacks_release(void);

/* Sends a launch with the stack that leads to the function with this frame
 * (__builtin_frame_address), from its caller outwards. The caller has filled in all of `launch` but
 * its stack. False: it was not sent. */
bool stacks_send(const void *frame, struct wire_launch *launch);
