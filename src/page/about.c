// SPDX-License-Identifier: MIT
#include "page/about.h"

#include "base/json_writer.h"
#include "page/axis_json.h"
#include "view/fold/command_title.h"
#include "view/view.h"

static void write_title(struct json_writer *w, const struct profile_reader *r)
{
	const char *command = profile_meta(r, META_COMMAND);
	struct buf title = BUF_INIT;

	if (command)
		command_title(command, &title);
	json_text(w, "title", command ? buf_text(&title) : "recording");
	json_text(w, "command", command);
	buf_release_for(&title, w->out);
}

static void write_views(struct json_writer *w)
{
	const struct view *v;

	json_begin(w, "views", '[');
	for (size_t n = 0; (v = view_at(n)); n++) {
		json_begin(w, NULL, '{');
		json_text(w, "name", v->name);
		json_text(w, "summary", v->summary);
		json_end(w, '}');
	}
	json_end(w, ']');
}

int about_json(struct buf *out, const struct recording_reading *g, const struct about_state *state)
{
	const struct profile_reader *r = g->reader;
	const uint64_t realtime_ns = profile_meta_number(r, META_REALTIME_NS, 0);
	struct json_writer w = {.out = out};
	int error;

	json_begin(&w, NULL, '{');
	write_title(&w, r);
	json_text(&w, "host", profile_meta(r, META_HOSTNAME));
	json_number(&w, "elapsed_ns", g->end_ns - g->start_ns);
	json_number(&w, "column_ns", state->column_ns);
	if (realtime_ns)
		json_number(&w, "realtime_ms", (realtime_ns + g->start_ns) / 1000000);
	json_bool(&w, "simulated", view_is_simulated(r));
	json_text(&w, "incomplete", profile_reader_incomplete(r));
	json_bool(&w, "whole", state->whole);
	json_number(&w, "percent_read", state->percent_read);
	write_views(&w);
	error = axis_json_rows(&w, &g->axis.rows, r);
	json_end(&w, '}');
	return error;
}
