// SPDX-License-Identifier: MIT
#include "page/heat_json.h"

#include <errno.h>
#include <inttypes.h>

#include "base/error.h"
#include "page/arguments.h"

#define COLUMNS_MAX 2000
#define ROWS_MAX    200

static int wanted_of(const struct http_request *q, struct heat_wanted *ret)
{
	const char *of = http_argument(q, "of");
	uint64_t columns, rows;
	int error = argument_number(q, "columns", COLUMNS_MAX, 400, &columns);

	error = error ?: argument_number(q, "rows", ROWS_MAX, 40, &rows);
	if (!error && (!of || !columns || !rows))
		error = error_set(-EINVAL, "say what the heatmap is of");
	if (error)
		return error;
	ret->columns = (uint32_t)columns;
	ret->rows = rows;
	ret->function = http_argument(q, "function");
	return heat_parse(of, &ret->of);
}

static void write_row(struct json_writer *w, const struct heat *h, const struct heat_row *row)
{
	json_begin(w, NULL, '{');
	json_text(w, "name", row->name);
	if (row->tid)
		json_number(w, "tid", row->tid);
	json_bool(w, "gpu", row->gpu);
	json_number(w, "time_ns", row->time_ns);
	json_begin(w, "cells", '[');
	for (uint32_t n = 0; n < h->columns; n++) {
		if (!row->cells[n])
			continue;
		json_key(w, NULL);
		buf_printf(w->out, "%u,%" PRIu64, n, row->cells[n]);
	}
	json_end(w, ']');
	json_end(w, '}');
}

void heat_json_write(struct json_writer *w, const char *name, const struct heat *h, enum heat_of of,
	uint64_t start_ns)
{
	json_begin(w, name, '{');
	json_number(w, "from", h->start_ns - start_ns);
	json_number(w, "step_ns", h->step_ns);
	json_number(w, "columns", h->columns);
	json_number(w, "others", h->others);
	json_number(w, "functions", h->functions);
	json_bool(w, "counts", of == HEAT_STALLS);
	json_begin(w, "rows", '[');
	vec_foreach (row, &h->rows)
		write_row(w, h, row);
	json_end(w, ']');
	json_end(w, '}');
}

int heat_json(struct recording *r, const struct http_request *q, struct buf *out)
{
	const struct recording_reading *g = recording_now(r);
	struct json_writer w = {.out = out};
	struct heat_wanted wanted = {0};
	struct heat h = {0};
	int error = wanted_of(q, &wanted);

	if (!error && profile_is_estimated(g->reader))
		error = error_set(
			-ERANGE, "a recording in bursts has no times by row, only estimates");
	error = error ?: heat_read(&h, &g->sums, g->reader, &wanted);
	if (!error)
		heat_json_write(&w, NULL, &h, wanted.of, g->start_ns);
	heat_release(&h);
	return error;
}
