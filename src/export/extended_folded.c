// SPDX-License-Identifier: MIT
/*
 * One line an event: `time_ns comm pid tid cpu root;...;leaf`, in file order: CPU samples, API
 * calls whose stack was recorded, GPU work. A missing value is `_`, 0, or -1 for the CPU of calls
 * and work.
 *
 * Names are final only at the end of a profile, so it is read twice: once for the tables, once for
 * the events. Each event's path is looked up in a tree of frames, and its text made once: memory
 * grows with the distinct paths, not with the events.
 */
#include <stdlib.h>

#include "base/error.h"
#include "base/vec.h"
#include "export/exporter.h"
#include "export/folded_frame.h"
#include "export/text.h"
#include "view/events/places.h"

#define SUBJECT "extended folded stacks"

struct extended {
	struct output *output;
	const struct profile_reader *tables;
	const struct export_options *options;
	struct event_places places;
	bool simulated;
	bool any; /* lines were written */
	struct buf line;
	struct vec(uint32_t) path; /* nodes from a leaf to the root */
	struct vec(char *) texts;  /* by node: its path, or NULL */
};

static void put_task(struct extended *x, uint32_t thread_id)
{
	const struct profile_thread *t = profile_thread(x->tables, thread_id);
	const struct profile_process *p = profile_process(x->tables, t ? t->process : 0);
	size_t size = 0;
	const char *name = t ? profile_thread_name(x->tables, t, &size) : "";

	if (!size && p)
		name = profile_string(x->tables, p->comm, &size);
	text_folded_word(&x->line, name, size);
	buf_printf(&x->line, " %u %u", p ? p->pid : 0, t ? t->tid : 0);
}

static int put_path(struct extended *x, uint32_t node, struct buf *b)
{
	const struct tree_node *nodes = tree_nodes(x->places.tree);
	uint32_t device = FOLDED_NO_DEVICE;

	x->path.count = 0;
	for (; node != TREE_ROOT_NODE; node = nodes[node].parent)
		if (vec_push(&x->path, node))
			return error_memory(SUBJECT);
	if (x->simulated)
		buf_puts(b, FOLDED_SIMULATED);
	while (x->path.count) {
		const struct tree_frame *f =
			&tree_frames(x->places.tree)[nodes[x->path.items[--x->path.count]].frame];

		if (f->kind == TREE_DEVICE) {
			device = f->number;
			continue;
		}
		if (b->size)
			buf_putc(b, ';');
		folded_frame(b, f, device);
	}
	return 0;
}

static int path_text(struct extended *x, uint32_t node, const char **ret)
{
	struct buf text = BUF_INIT;
	int error;

	while (x->texts.count <= node)
		if (vec_push(&x->texts, NULL))
			return error_memory(SUBJECT);
	if (!x->texts.items[node]) {
		error = put_path(x, node, &text);
		buf_putc(&text, '\n');
		if (error || text.failed) {
			buf_release(&text);
			return error ?: error_memory(SUBJECT);
		}
		x->texts.items[node] = text.data;
	}
	*ret = x->texts.items[node];
	return 0;
}

static int write_line(struct extended *x, const struct profile_event *e, uint64_t time_ns,
	uint32_t thread, int64_t cpu)
{
	const char *path = NULL;
	uint32_t node = 0;
	int error = event_places_find(&x->places, e, &node);

	error = error ?: path_text(x, node, &path);
	if (error)
		return error;
	output_u64(x->output, time_ns);
	output_putc(x->output, ' ');
	buf_reset(&x->line);
	put_task(x, thread);
	buf_printf(&x->line, " %lld ", (long long)cpu);
	if (x->line.failed)
		return error_memory(SUBJECT);
	output_write(x->output, x->line.data, x->line.size);
	output_puts(x->output, path);
	x->any = true;
	return 0;
}

static int write_event(struct extended *x, const struct profile_event *e)
{
	unsigned int shows = view_of(&x->options->view)->shows;

	switch (e->kind) {
	case EVENT_SAMPLE:
		return e->sample.kind == SAMPLE_SEEN && shows & VIEW_SHOWS_CPU
			       ? write_line(
					 x, e, e->sample.time_ns, e->sample.thread, e->sample.cpu)
			       : 0;
	case EVENT_CALL:
		return shows & (VIEW_SHOWS_CPU | VIEW_SHOWS_CALLS) && e->call.stack
			       ? write_line(x, e, e->call.start_ns, e->call.thread, -1)
			       : 0;
	case EVENT_WORK:
		return shows & VIEW_SHOWS_GPU
			       ? write_line(x, e, e->work.start_ns, e->work.thread, -1)
			       : 0;
	default:
		return 0;
	}
}

static int write_events(struct extended *x)
{
	struct profile_reader *r;
	struct profile_event event;
	int more, error = profile_reader_open_again(&r, x->tables);

	if (error)
		return error;
	while (!error && (more = profile_reader_next(r, &event))) {
		error = more < 0 ? more : write_event(x, &event);
		error = error ?: output_error(x->output);
	}
	profile_reader_close(r);
	return error;
}

static int write_all(struct extended *x)
{
	int error = event_places_init(&x->places, x->tables, &x->options->view);

	error = error ?: write_events(x);
	event_places_release(&x->places);
	vec_foreach (text, &x->texts)
		free(*text);
	vec_release(&x->texts);
	vec_release(&x->path);
	buf_release(&x->line);
	return error;
}

int export_extended_folded(const char *path, const struct export_options *options, struct output *o,
	struct export_result *ret)
{
	struct extended x = {.output = o, .options = options};
	struct export_input input;
	int error = export_open(&input, path, options);

	if (error)
		return error;
	x.tables = input.reader;
	error = export_read_all(&input, ret);
	x.simulated = view_is_simulated(x.tables);
	error = error ?: write_all(&x);
	ret->empty = !x.any;
	export_close(&input);
	return error;
}
