/* SPDX-License-Identifier: MIT */
/*
 * A stack of our own, for a call that may need more of it than a thread of the program's has: names
 * of kernels are the program's, and to make a long one readable takes 2 MiB. No other thread is
 * involved, as whoever starts one may hold locks that it needs.
 */
#pragma once

#include <stdbool.h>

/* Calls it there, and returns when it has; false: there is no memory, and it was not called. */
bool own_stack_call(void (*call)(void *argument), void *argument);
