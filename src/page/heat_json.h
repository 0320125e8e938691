/* SPDX-License-Identifier: MIT */
/* Time by row and column (view/heat/heat.h) as JSON. */
#pragma once

#include "base/json_writer.h"
#include "page/recording.h"
#include "serve/http.h"
#include "view/heat/heat.h"

/* What is asked for: of, columns, rows, function. {"from", "step_ns", "columns", "others",
 * "functions", "counts", "rows": [{"name", "tid", "gpu", "time_ns", "cells": [column, time, ...]},
 * ...]}, with samples instead of times where it counts: 0 or -errno with error_text. */
int heat_json(struct recording *r, const struct http_request *q, struct buf *out);
/* The same, as a value with a name, or NULL. */
void heat_json_write(struct json_writer *w, const char *name, const struct heat *h, enum heat_of of,
	uint64_t start_ns);
