/* SPDX-License-Identifier: MIT */
/*
 * Calls of the driver that began before callbacks of all calls were on, and so are not counted
 * (inside.h): whether all of them have ended. Our thread.
 *
 * The threads that are there when callbacks have just been switched on are looked at until each
 * has proved that it is in none: it has begun another call, has ended, or sleeps and has no address
 * of the driver's code on its stack. A thread that only runs proves nothing: it may wait for the
 * GPU in a loop.
 */
#pragma once

#include <stdbool.h>

/* When callbacks are on. */
void earlier_begin(void);
/* Looks once more, at some of them, for a time that is bounded however many they are and however
 * deep their stacks: true when all have proved it. */
bool earlier_have_ended(void);
