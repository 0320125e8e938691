/* SPDX-License-Identifier: MIT */
/*
 * What programs with known stacks say of themselves, to be compared with what was recorded
 * (check.py).
 *
 * A function says its name when it begins and again when it ends, so each thread has a list of the
 * functions that are running: the truth. Where the program launches or computes (truth_point), the
 * list is written to $TRUTH_OUT, once for each different one:
 *
 *	spin ~start;main;outer;inner;truth_spin
 *	launch truth_7 ~start;main;outer;inner;truth_launch
 *
 * What stands in for functions that are not ours begins with '~': "~start" the way to main,
 * "~thread" to a thread's
 * function, "~signal" to a handler, "~glue" of libraries. "?name" may be there or not; "one|other" are two names
 * of one function. A name with '!' behind it is
 * that of a function that also calls functions that are not ours.
 *
 * No inlining, cloning or tail calls for functions that have a name here, or the truth would be
 * another one.
 */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __clang__
#define KNOWN __attribute__((noinline, used))
#else
#define KNOWN __attribute__((noipa, noinline, used))
#endif

/* Opens the CUDA driver; with TRUTH_NO_CUDA launches do nothing. */
void truth_begin(void);
void truth_enter(const char *name);
void truth_leave(void);
/* Writes down where the program is. */
void truth_here(void);
/* Writes down that this function is called here, though it does not say so itself. */
void truth_calls(const char *name);
/* For jumps out of functions: how many there are, and back to so many. */
int truth_depth(void);
void truth_unwind(int depth);
/* Takes CPU time for a while. */
void truth_spin(void);
/* Launches a kernel, whose name is that of this list of functions, a few times. */
void truth_launch(void);
/* Both. */
void truth_point(void);

#ifdef __cplusplus
}
#endif
