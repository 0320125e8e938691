/* SPDX-License-Identifier: MIT */
/*
 * The rows of the time axis as JSON. Of very many a page gets those of the first lanes of each
 * class (view/timeline/lanes.h), sums of all, and more of them when it asks: what it has no row of
 * it can count.
 *
 *	rows.json?of=CLASS&skip=N	the next lanes of a class: "threads", "streams", ...
 *	rows.json?rows=3,5		the lanes of these rows
 *	rows.json?text=TEXT		those that have it in a name of theirs; case does not matter
 *
 *	{"rows": [...], "lanes": {"threads": how many there are of these, ...}}
 */
#pragma once

#include "base/json_writer.h"
#include "page/recording.h"
#include "serve/http.h"

#define ROWS_JSON_LANES 500 /* of each class, at once */

/* "rows": [{"number", "kind", "name", "process", "thread", "device", "count", "time_ns",
 * "profiler"}, ...], of threads "tid" and "id", which no two have, of counters "unit", of markers
 * "depth"; "lanes"; "all": {"run": {"rows", "count", "time_ns"}, ...}. `most`: lanes of each class. 0 or -ENOMEM with error_text. */
int rows_json_about(struct json_writer *w, const struct recording_reading *g, size_t most);
/* 0, or -errno with error_text. */
int rows_json(struct recording *r, const struct http_request *q, struct buf *out);
