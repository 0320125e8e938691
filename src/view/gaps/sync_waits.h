/* SPDX-License-Identifier: MIT */
/*
 * Which work threads waited for in calls that wait for the GPU.
 *
 * The whole time of a call goes to one piece of work of its process. The work was launched before
 * the call began, ran in the stream or context that the call waited for (where the recording has
 * it), and of all such work ended last before the call did. The stream of work of graphs is that of
 * gpu_waits_stream.
 */
#pragma once

#include "view/gaps/events.h"
#include "view/names/internals.h"

struct sync_wait {
	uint32_t thread, api; /* string: the call */
	uint32_t stack;	      /* of the call: one for all through the same functions, as the next */
	uint32_t op;	      /* 0: none was running */
	uint32_t launch_stack;
	uint64_t count, total_ns, max_ns;
};

struct sync_waits {
	struct vec(struct sync_wait) waits; /* the longest first */
};

/* From events that were read; comes zeroed. 0 or -ENOMEM with error_text; release it in either
 * case. */
int sync_waits_find(
	struct sync_waits *s, const struct gap_events *e, const struct internals *internals);
void sync_waits_release(struct sync_waits *s);
