// SPDX-License-Identifier: MIT
#include "page/links_json.h"

#include <inttypes.h>

#include "base/json_writer.h"
#include "page/arguments.h"

#define WORKS_MAX 500

static int wanted_of(
	const struct http_request *q, const struct recording_reading *g, struct links_wanted *ret)
{
	uint64_t row, begin_ns, length_ns;
	int error = argument_number(q, "row", UINT32_MAX, 0, &row);

	error = error ?: argument_number(q, "begin", INT64_MAX, 0, &begin_ns);
	error = error ?: argument_number(q, "length", INT64_MAX, 0, &length_ns);
	if (error)
		return error;
	ret->box.row = (uint32_t)row;
	ret->box.begin_ns = g->start_ns + begin_ns;
	ret->box.end_ns = g->start_ns + begin_ns + length_ns;
	ret->most = WORKS_MAX;
	return 0;
}

static void write_end(struct json_writer *w, const struct link_end *e, uint64_t start_ns)
{
	json_key(w, NULL);
	buf_printf(w->out, "%u,%" PRId64 ",%" PRIu64, e->row, (int64_t)(e->begin_ns - start_ns),
		e->end_ns - e->begin_ns);
}

int links_json(struct recording *r, const struct http_request *q, struct buf *out)
{
	const struct recording_reading *g = recording_now(r);
	struct json_writer w = {.out = out};
	struct links_wanted wanted = {0};
	struct links l = {0};
	int error = wanted_of(q, g, &wanted);

	error = error ?: recording_links(r, &l, &wanted);
	if (!error) {
		json_begin(&w, NULL, '{');
		json_begin(&w, "call", '[');
		if (l.has_call)
			write_end(&w, &l.call, g->start_ns);
		json_end(&w, ']');
		json_begin(&w, "works", '[');
		vec_foreach (work, &l.works)
			write_end(&w, work, g->start_ns);
		json_end(&w, ']');
		json_number(&w, "work_count", l.work_count);
		json_end(&w, '}');
	}
	links_release(&l);
	return error;
}
