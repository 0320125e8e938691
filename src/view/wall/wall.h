/* SPDX-License-Identifier: MIT */
/*
 * The elapsed time of each thread, all of it:
 *
 *	process - thread - code ...                                  it ran here
 *	process - thread - code ... - [waiting: lock]                it slept here
 *	process - thread - code ... - API call - [waiting for the GPU] - code ... - API call - kernel - ...
 *	                                                             it waited until this was done, with its
 *	                                                             instructions where these were sampled; or
 *	                                                             [GPU idle], [other streams]
 *	process - thread - [running, not sampled]                    and [not recorded]: time without events
 *
 * The time of a GPU wait belongs to the call that waits, spinning or asleep (events.h finds these
 * calls), and to the work that ran meanwhile (gpu_waits.h). The rest of a thread's life is its
 * waits and the time it ran (thread.h), which its CPU samples share. All of this adds up to the
 * thread's life, to the nanosecond. The profiler's own threads are left out.
 */
#pragma once

#include "profile/reader.h"
#include "view/fold/result.h"

int wall_build(struct profile_reader *r, const struct view_options *o, struct view_result *ret);
/* The same, with no more than about so many events in memory at a time. */
int wall_build_within(struct profile_reader *r, const struct view_options *o,
	struct view_result *ret, size_t most);
