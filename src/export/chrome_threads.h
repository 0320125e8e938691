/* SPDX-License-Identifier: MIT */
/*
 * Rows of a timeline beside a thread's calls: where samples saw it on a CPU, when it did not run,
 * and when it waited for the GPU.
 *
 * For events that come after a recording was read to its end, when names are final. Memory is for
 * the tables, not for the events.
 */
#pragma once

#include <stdbool.h>

#include "export/output.h"
#include "view/events/order.h"
#include "view/tree/tree.h"

struct chrome_threads;

/* `done` has read the recording. *any: events stand before these; becomes true when some are
 * written. All: 0 or -errno with error_text. */
int chrome_threads_new(struct chrome_threads **ret, const struct profile_reader *done,
	struct output *o, bool *any);
void chrome_threads_free(struct chrome_threads *t);
/* A sample, with the node of its stack and the innermost frame there, which it is called after. */
int chrome_threads_sample(struct chrome_threads *t, uint32_t thread, const struct event_span *span,
	uint32_t stack, const struct tree_frame *leaf);
/* A wait, or a wait for the GPU. */
int chrome_threads_wait(struct chrome_threads *t, const struct profile_event *e);
/* Names the rows that have events. */
int chrome_threads_name(struct chrome_threads *t);
