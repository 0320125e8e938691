/* SPDX-License-Identifier: MIT */
/* What a box of the time axis belongs to (view/timeline/links.h) as JSON. */
#pragma once

#include "page/recording.h"
#include "serve/http.h"

/* What is asked for: row, begin, length. {"call": [row, begin, length], "works": [row, begin, length,
 * ...], "work_count"}: 0 or -errno with error_text. */
int links_json(struct recording *r, const struct http_request *q, struct buf *out);
