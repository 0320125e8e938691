// SPDX-License-Identifier: MIT
#include "page/about.h"

#include "base/error.h"
#include "base/json_writer.h"
#include "page/rows_json.h"
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

/* As they are now. */
static void write_recordings(struct json_writer *w, const struct about_state *state)
{
	json_begin(w, "recordings", '[');
	for (size_t n = 0; n < state->count; n++) {
		struct recording *r = state->recordings[n];
		int error = recording_look(r, state->growth);
		const struct recording_reading *g = recording_now(r);

		json_begin(w, NULL, '{');
		json_text(w, "file", recording_path(r));
		json_number(w, "elapsed_ns", g->end_ns - g->start_ns);
		json_text(w, "incomplete", profile_reader_incomplete(g->reader));
		json_text(w, "error", error ? error_text() : NULL);
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
	error = rows_json_about(&w, g, state->lanes_most);
	write_recordings(&w, state);
	json_end(&w, '}');
	return error;
}
