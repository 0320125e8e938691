/* SPDX-License-Identifier: MIT */
/*
 * What programs gave names, in a timeline of the Trace Event Format: a row beside each thread, and
 * one more for what overlaps or lies inside another.
 */
#pragma once

#include "export/output.h"
#include "view/events/rows.h"

struct chrome_markers;

/* As chrome_threads_new; all: 0 or -errno with error_text. */
int chrome_markers_new(struct chrome_markers **ret, const struct profile_reader *done,
	struct output *o, bool *any);
void chrome_markers_free(struct chrome_markers *m);
int chrome_markers_put(
	struct chrome_markers *m, const struct profile_event *e, const struct event_span *span);
/* Names the rows that have events. */
int chrome_markers_name(struct chrome_markers *m);
