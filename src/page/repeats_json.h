/* SPDX-License-Identifier: MIT */
/* What happens again and again (view/timeline/repeats.h) as JSON. */
#pragma once

#include "page/recording.h"
#include "serve/http.h"

/* What is asked for: 0, or -EINVAL with error_text. Names are those of the request. */
int repeats_asked(const struct http_request *q, const struct recording_reading *g,
	struct repeats_wanted *ret);
/*
 * What is asked for: of, which, from, to, at-least, below. {"names": [{"text", "marker", "count",
 * "time_ns"}, ...], "count", "total_ns", "min_ns", "median_ns", "max_ns", "bars": [from, to, count,
 * ...], "matching", "longest": [begin, length, ...]}, times from the start of the recording. 0 or
 * -errno with error_text.
 */
int repeats_json(struct recording *r, const struct http_request *q, struct buf *out);
