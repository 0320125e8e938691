/* SPDX-License-Identifier: MIT */
/*
 * Python's frames of a sample that comes without BPF (perf_samples.h). They are in the heap, so
 * they are read from the process, at once, while its thread goes on running. What was sampled
 * decides: the copy of the stack is read instead of the stack, and has the entry frame of each
 * evaluation loop, and what the innermost one had in its registers. Frames that these do not vouch
 * for are those of another moment, and are not used.
 *
 * The process is one of the user's own, as only such are sampled like this: so what could hold up
 * the reading (memory in a file system of the program's) is the user's own doing, and nothing but
 * this recording waits. One thread.
 */
#pragma once

#include "capture/perf_samples.h"
#include "capture/raw_walk.h"
#include "python/remote.h"

struct perf_python;

enum perf_python_found {
	PERF_PYTHON_NONE, /* the thread runs no Python */
	PERF_PYTHON_FOUND,
	PERF_PYTHON_MOVED, /* its frames are others by now */
};

struct perf_python *perf_python_new(void); /* NULL: no memory */
void perf_python_free(struct perf_python *p);
/* The frames of the thread at the sample, if it runs this Python. *ret has them until the next
 * call. */
enum perf_python_found perf_python_read(struct perf_python *p, const struct walk_python *python,
	const struct perf_sample *sample, const struct raw_walk *walk,
	const struct python_stack **ret);
