// SPDX-License-Identifier: MIT
#include "page/repeats_json.h"

#include <inttypes.h>

#include "base/json_writer.h"
#include "page/arguments.h"

#define NAMES_MAX   1000
#define LONGEST_MAX 300

int repeats_asked(
	const struct http_request *q, const struct recording_reading *g, struct repeats_wanted *ret)
{
	const char *of = http_argument(q, "of");
	uint64_t from_ns, to_ns;
	int error = argument_number(q, "from", INT64_MAX, 0, &from_ns);

	error = error ?: argument_number(q, "to", INT64_MAX, g->end_ns - g->start_ns, &to_ns);
	error = error ?: argument_number(q, "at-least", UINT64_MAX, 0, &ret->at_least_ns);
	error = error ?: argument_number(q, "below", UINT64_MAX, UINT64_MAX, &ret->below_ns);
	if (error)
		return error;
	ret->from_ns = g->start_ns + from_ns;
	ret->to_ns = g->start_ns + to_ns;
	ret->name = http_argument(q, "which");
	ret->most = LONGEST_MAX;
	return of ? repeats_parse(of, &ret->of) : 0;
}

static void write_names(struct json_writer *w, const struct repeats *p)
{
	size_t count = p->names.count < NAMES_MAX ? p->names.count : NAMES_MAX;

	json_begin(w, "names", '[');
	for (size_t n = 0; n < count; n++) {
		const struct repeats_name *name = &p->names.items[n];

		json_begin(w, NULL, '{');
		json_text(w, "text", name->text);
		json_bool(w, "marker", name->is_marker);
		json_number(w, "count", name->count);
		json_number(w, "time_ns", name->time_ns);
		json_end(w, '}');
	}
	json_end(w, ']');
	json_number(w, "names_left_out", p->names.count - count);
}

static void write_lengths(struct json_writer *w, const struct repeats *p, uint64_t start_ns)
{
	json_number(w, "count", p->count);
	json_number(w, "total_ns", p->total_ns);
	json_number(w, "min_ns", p->min_ns);
	json_number(w, "median_ns", p->median_ns);
	json_number(w, "max_ns", p->max_ns);
	json_begin(w, "bars", '[');
	vec_foreach (bar, &p->bars) {
		json_key(w, NULL);
		buf_printf(w->out, "%" PRIu64 ",%" PRIu64 ",%" PRIu64, bar->from_ns, bar->to_ns,
			bar->count);
	}
	json_end(w, ']');
	json_number(w, "matching", p->matching);
	json_begin(w, "longest", '[');
	vec_foreach (one, &p->longest) {
		json_key(w, NULL);
		buf_printf(
			w->out, "%" PRIu64 ",%" PRIu64, one->start_ns - start_ns, one->length_ns);
	}
	json_end(w, ']');
}

int repeats_json(struct recording *r, const struct http_request *q, struct buf *out)
{
	const struct recording_reading *g = recording_now(r);
	struct json_writer w = {.out = out};
	struct repeats_wanted wanted = {0};
	struct repeats p = {0};
	int error = repeats_asked(q, g, &wanted);

	error = error ?: recording_repeats(r, &p, &wanted);
	if (!error) {
		json_begin(&w, NULL, '{');
		write_names(&w, &p);
		write_lengths(&w, &p, g->start_ns);
		json_end(&w, '}');
	}
	repeats_release(&p);
	return error;
}
