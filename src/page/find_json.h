/* SPDX-License-Identifier: MIT */
/* What of the time axis has a text in its name (view/timeline/find.h), as JSON. */
#pragma once

#include "page/recording.h"
#include "serve/http.h"

/* What is asked for: text, from, back. {"found": [row, begin, length, name, ...], "names", "count",
 * "before"}: 0 or -errno with error_text. */
int find_json(struct recording *r, const struct http_request *q, struct buf *out);
