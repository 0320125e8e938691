// SPDX-License-Identifier: MIT
#include "page/find_json.h"

#include <errno.h>
#include <inttypes.h>

#include "base/error.h"
#include "page/arguments.h"
#include "page/axis_json.h"

#define FOUND_MAX 1000

static int write(struct json_writer *w, const struct timeline_find *f,
	const struct recording_reading *g, struct axis_names *names)
{
	int error = 0;

	json_begin(w, NULL, '{');
	json_begin(w, "found", '[');
	vec_foreach (box, &f->found) {
		uint64_t index = 0;

		error = error
				?: axis_names_index(names, g->axis.rows.items.items[box->row].kind,
					   box->what, &index);
		json_key(w, NULL);
		buf_printf(w->out, "%u,%" PRId64 ",%" PRIu64 ",%" PRIu64, box->row,
			(int64_t)(box->begin_ns - g->start_ns), box->end_ns - box->begin_ns, index);
	}
	json_end(w, ']');
	axis_names_json(w, names, g->reader);
	json_number(w, "count", f->count);
	json_number(w, "before", f->before);
	json_end(w, '}');
	return error;
}

int find_json(struct recording *r, const struct http_request *q, struct buf *out)
{
	const struct recording_reading *g = recording_now(r);
	struct timeline_find_wanted wanted = {.text = http_argument(q, "text"), .most = FOUND_MAX};
	struct json_writer w = {.out = out};
	struct axis_names names = {0};
	struct timeline_find f = {0};
	uint64_t from_ns;
	int error = argument_number(q, "from", INT64_MAX, 0, &from_ns);

	if (!error && (!wanted.text || !*wanted.text))
		error = error_set(-EINVAL, "say what is looked for");
	wanted.back = argument_flag(q, "back");
	wanted.from_ns = from_ns || wanted.back ? g->start_ns + from_ns : 0;
	error = error ?: recording_find(r, &f, &wanted);
	error = error ?: write(&w, &f, g, &names);
	axis_names_release(&names);
	timeline_find_release(&f);
	return error;
}
