/* SPDX-License-Identifier: MIT */
/*
 * Python's frames of a sample before 3.11, where each frame is an object and has an evaluation loop
 * of its own (perf_python.h).
 */
#pragma once

#include "capture/perf_loops.h"
#include "python/remote.h"

/* The frames of the loops, by those that this thread state has now; *ret_unknown is how many of
 * them are not known. False: none is. */
bool perf_objects_find(struct python_stack *ret, uint32_t *ret_unknown, struct perf_memory *pm,
	const struct walk_python *python, const struct perf_loops *loops, uint64_t state);
