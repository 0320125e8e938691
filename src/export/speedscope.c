// SPDX-License-Identifier: MIT
/*
 * speedscope's own JSON: a profile for each row of the timeline (view/events/rows.h). Each is of
 * the sampled kind: stacks with their length, in the order of time, and an empty stack for the time
 * between. So nothing can be left open, and no two events can touch in a wrong way. All profiles
 * begin at the same moment.
 *
 * A profile stands whole in the file, so what a row consists of is kept until the end: 24 bytes an
 * event. speedscope itself needs far more for it.
 *
 * Format: github.com/jlfwong/speedscope, file-format-schema.json.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "export/exporter.h"
#include "view/events/places.h"
#include "view/events/rows.h"
#include "view/fold/command_title.h"
#include "view/names/label.h"

#define SUBJECT "the file for speedscope"

struct item {
	uint64_t start_ns, duration_ns;
	uint32_t node;
};

struct items vec(struct item);

struct speedscope {
	struct output *output;
	const struct profile_reader *reader;
	struct event_places places;
	struct event_rows rows;
	struct vec(struct items *) items; /* by row */
	unsigned int shows;
	uint64_t start_ns; /* of all profiles */
	struct buf text, name;
};

/* A marker is a stack of its name alone. */
static int node_of(struct speedscope *s, const struct profile_event *e, uint32_t *ret)
{
	uint32_t frame = 0;
	size_t size;
	const char *name;
	int error;

	if (e->kind != EVENT_MARKER)
		return event_places_find(&s->places, e, ret);
	name = profile_string(s->reader, e->marker.name, &size);
	error = tree_add_frame(s->places.tree, TREE_NOTE, 0, name, size, &frame);
	return error ?: tree_add_child(s->places.tree, TREE_ROOT_NODE, frame, ret);
}

static int keep(struct speedscope *s, const struct profile_event *e, const struct event_span *span)
{
	const struct item item = {span->start_ns, span->duration_ns, 0};
	struct items *items;
	uint32_t row = 0;
	int error = event_rows_find(&s->rows, e, span, &row);

	if (error)
		return error;
	while (s->items.count <= row) {
		items = calloc(1, sizeof(*items));
		if (!items || vec_push(&s->items, items)) {
			free(items);
			return error_memory(SUBJECT);
		}
	}
	items = s->items.items[row];
	if (vec_push(items, item))
		return error_memory(SUBJECT);
	if (span->start_ns < s->start_ns)
		s->start_ns = span->start_ns;
	return node_of(s, e, &items->items[items->count - 1].node);
}

/* A wait ends in the run queue. */
static int keep_wait(struct speedscope *s, const struct profile_event *e)
{
	struct profile_event part = *e;
	uint64_t queued_ns =
		e->wait.queued_ns < e->wait.duration_ns ? e->wait.queued_ns : e->wait.duration_ns;
	struct event_span span = {e->wait.start_ns, e->wait.duration_ns - queued_ns};
	int error = 0;

	if (profile_is_profiler(s->reader, e->wait.thread))
		return 0;
	if (span.duration_ns)
		error = keep(s, &part, &span);
	part.wait.reason = WAIT_RUN_QUEUE;
	span = (struct event_span){span.start_ns + span.duration_ns, queued_ns};
	return !error && queued_ns ? keep(s, &part, &span) : error;
}

static int add_event(void *arg, const struct profile_event *e, const struct event_span *span)
{
	struct speedscope *s = arg;

	if (e->kind == EVENT_MARKER) /* speedscope shows no moments */
		return span->duration_ns ? keep(s, e, span) : 0;
	if (!event_is_shown(e, s->shows) || e->kind == EVENT_COUNT || e->kind == EVENT_DRIVER)
		return 0;
	return e->kind == EVENT_WAIT ? keep_wait(s, e) : keep(s, e, span);
}

static int put_text(struct speedscope *s, const char *before, const char *text, size_t size)
{
	buf_reset(&s->text);
	json_string(&s->text, text, size);
	if (s->text.failed)
		return error_memory(SUBJECT);
	output_puts(s->output, before);
	output_write(s->output, s->text.data, s->text.size);
	return output_error(s->output);
}

static int write_frames(struct speedscope *s)
{
	const struct tree_frame *frames = tree_frames(s->places.tree);
	int error = 0;

	for (size_t i = 0; !error && i < tree_frame_count(s->places.tree); i++) {
		buf_reset(&s->name);
		tree_label(&frames[i], &s->name);
		error = s->name.failed ? error_memory(SUBJECT)
				       : put_text(s, i ? ",\n{\"name\":" : "\n{\"name\":",
						 buf_text(&s->name), s->name.size);
		output_puts(s->output, "}");
	}
	return error;
}

/* The frames from the root to a node. */
static void put_stack(struct speedscope *s, uint32_t node)
{
	const struct tree_node *nodes = tree_nodes(s->places.tree);
	uint32_t path[256], *longer = NULL, *frames = path;
	size_t depth = 0;

	for (uint32_t n = node; n != TREE_ROOT_NODE; n = nodes[n].parent)
		depth++;
	if (depth > sizeof(path) / sizeof(*path)) {
		longer = malloc(depth * sizeof(*longer));
		if (!longer) {
			s->text.failed = true;
			return;
		}
		frames = longer;
	}
	for (size_t i = depth; i; node = nodes[node].parent)
		frames[--i] = nodes[node].frame;
	for (size_t i = 0; i < depth; i++) {
		output_puts(s->output, i ? "," : "[");
		output_u64(s->output, frames[i]);
	}
	output_puts(s->output, depth ? "]" : "[]");
	free(longer);
}

/* Each item of a row, and what it is after the one before, for samples and for weights. */
static uint64_t put_samples(struct speedscope *s, const struct items *items, bool weights)
{
	uint64_t at_ns = s->start_ns;
	const char *comma = "";

	vec_foreach (item, items) {
		if (item->start_ns > at_ns) {
			output_puts(s->output, comma);
			if (weights)
				output_u64(s->output, item->start_ns - at_ns);
			else
				output_puts(s->output, "[]");
			comma = ",";
		}
		output_puts(s->output, comma);
		if (weights)
			output_u64(s->output, item->duration_ns);
		else
			put_stack(s, item->node);
		comma = ",";
		at_ns = (item->start_ns > at_ns ? item->start_ns : at_ns) + item->duration_ns;
	}
	return at_ns - s->start_ns;
}

static int write_row(struct speedscope *s, uint32_t row)
{
	uint64_t end_ns;
	int error;

	buf_reset(&s->name);
	event_row_name(&s->rows, row, &s->name);
	error = put_text(s,
		row ? ",\n{\"type\":\"sampled\",\"name\":" : "\n{\"type\":\"sampled\",\"name\":",
		buf_text(&s->name), s->name.size);
	if (error)
		return error;
	output_puts(s->output, ",\"unit\":\"nanoseconds\",\"startValue\":0,\n\"samples\":[");
	(void)put_samples(s, s->items.items[row], false);
	output_puts(s->output, "],\n\"weights\":[");
	end_ns = put_samples(s, s->items.items[row], true);
	output_puts(s->output, "],\"endValue\":");
	output_u64(s->output, end_ns);
	output_puts(s->output, "}");
	return s->text.failed ? error_memory(SUBJECT) : output_error(s->output);
}

static int write_title(struct speedscope *s)
{
	const char *command = profile_meta(s->reader, META_COMMAND);

	buf_reset(&s->name);
	if (command)
		command_title(command, &s->name);
	if (view_is_simulated(s->reader))
		buf_puts(&s->name, " (simulated GPU)");
	return put_text(s,
		"{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
		"\"exporter\":\"xpuprof\",\"name\":",
		buf_text(&s->name), s->name.size);
}

static int write_all(struct speedscope *s)
{
	int error = write_title(s);

	output_puts(s->output, ",\n\"shared\":{\"frames\":[");
	error = error ?: write_frames(s);
	output_puts(s->output, "]},\n\"profiles\":[");
	for (uint32_t row = 0; !error && row < s->items.count; row++)
		error = write_row(s, row);
	output_puts(s->output, "]}\n");
	return error;
}

static void release(struct speedscope *s)
{
	vec_foreach (items, &s->items) {
		vec_release(*items);
		free(*items);
	}
	vec_release(&s->items);
	event_rows_release(&s->rows);
	event_places_release(&s->places);
	buf_release(&s->text);
	buf_release(&s->name);
}

int export_speedscope(const char *path, const struct export_options *options, struct output *o,
	struct export_result *ret)
{
	struct speedscope s = {.output = o, .shows = view_of(&options->view)->shows};
	struct export_input input;
	int error = export_open(&input, path, options);

	if (error)
		return error;
	s.reader = input.reader;
	error = export_read_all(&input, ret);
	s.start_ns = profile_meta_number(s.reader, META_START_NS, UINT64_MAX);
	error = error ?: event_places_init(&s.places, s.reader, &options->view);
	error = error ?: event_rows_init(&s.rows, s.reader);
	error = error ?: events_in_order(s.reader, add_event, &s);
	error = error ?: write_all(&s);
	ret->empty = !s.items.count;
	release(&s);
	export_close(&input);
	return error;
}
