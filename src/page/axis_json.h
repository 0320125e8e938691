/* SPDX-License-Identifier: MIT */
/*
 * A time axis (view/timeline/timeline.h) as JSON. Times are nanoseconds from the start of the
 * recording; numbers stay below 2^53, as a script needs them.
 */
#pragma once

#include "base/buf.h"
#include "view/timeline/timeline.h"

/* "rows": [{"kind", "name", "process", "thread", "device", "count", "time_ns", "profiler"}, ...] */
struct json_writer;
int axis_json_rows(
	struct json_writer *w, const struct timeline_rows *rows, const struct profile_reader *r);
/*
 * "boxes": [row, begin, length, name, ...], names being indices of "names"; "cells":
 * {"row": [column, time_ns, count, ...]}, without those that are empty. Of counters the second is
 * the mean. 0 or -ENOMEM with error_text.
 */
int axis_json_contents(struct json_writer *w, const struct timeline *t,
	const struct profile_reader *r, uint64_t start_ns);
