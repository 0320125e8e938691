// SPDX-License-Identifier: MIT
/*
 * Text as `perf script` prints it: for each event a line with thread, CPU, time, weight and kind,
 * then its stack from the leaf, then an empty line. CPU samples are "cpu-clock" with their CPU time
 * as weight, waits "off-cpu" with their length, GPU work "gpu" so too, on the thread that launched
 * it.
 *
 * The text of each distinct stack is made once: memory grows with these, not with the events.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/printable.h"
#include "base/vec.h"
#include "export/exporter.h"
#include "export/text.h"
#include "view/events/order.h"
#include "view/events/places.h"
#include "view/names/label.h"

#define SUBJECT "the text of perf script"

#define NS 1000000000u

struct perf_script {
	struct output *output;
	const struct profile_reader *reader;
	struct event_places places;
	unsigned int shows;
	struct vec(char *) stacks; /* by node: its lines, or NULL */
	bool any;
	struct buf text, name;
};

/* What stands for the file that a frame is of. */
static const char *file_of(enum tree_kind kind)
{
	if (kind == TREE_KERNEL)
		return "[kernel.kallsyms]";
	return tree_kind_is_gpu(kind) ? "[gpu]" : "[unknown]";
}

static int make_stack(struct perf_script *s, uint32_t node, char **ret)
{
	const struct tree_node *nodes = tree_nodes(s->places.tree);
	struct buf b = BUF_INIT;

	for (; node != TREE_ROOT_NODE; node = nodes[node].parent) {
		const struct tree_frame *f = &tree_frames(s->places.tree)[nodes[node].frame];

		buf_reset(&s->name);
		tree_label(f, &s->name);
		b.failed |= s->name.failed;
		buf_puts(&b, "\t               0 ");
		printable_put(&b, s->name.size ? s->name.data : "(no name)",
			s->name.size ? s->name.size : strlen("(no name)"));
		buf_printf(&b, " (%s)\n", file_of(f->kind));
	}
	/* The root, as in folded stacks: comments are not read by all. */
	if (view_is_simulated(s->reader))
		buf_puts(&b, "\t               0 [simulated GPU] ([unknown])\n");
	buf_putc(&b, '\n');
	if (b.failed) {
		buf_release(&b);
		return error_memory(SUBJECT);
	}
	*ret = b.data;
	return 0;
}

static int stack_of(struct perf_script *s, const struct profile_event *e, const char **ret)
{
	uint32_t node = 0;
	int error = event_places_find(&s->places, e, &node);

	while (!error && s->stacks.count <= node)
		if (vec_push(&s->stacks, NULL))
			error = error_memory(SUBJECT);
	if (!error && !s->stacks.items[node])
		error = make_stack(s, node, &s->stacks.items[node]);
	if (!error)
		*ret = s->stacks.items[node];
	return error;
}

/* Blanks in a name would end it. */
static void put_task(struct perf_script *s, uint32_t thread)
{
	const struct profile_thread *t = profile_thread(s->reader, thread);
	const struct profile_process *p = profile_process(s->reader, t ? t->process : 0);
	size_t size = 0;
	const char *name = t ? profile_thread_name(s->reader, t, &size) : "";

	text_folded_word(&s->text, name, size);
	buf_printf(&s->text, " %u/%u", p ? p->pid : 0, t ? t->tid : 0);
}

static int put_event(struct perf_script *s, const struct profile_event *e, const char *kind,
	uint32_t thread, uint32_t cpu, uint64_t time_ns, uint64_t weight_ns)
{
	const char *stack = NULL;
	int error = stack_of(s, e, &stack);

	if (error)
		return error;
	buf_reset(&s->text);
	put_task(s, thread);
	buf_printf(&s->text, " [%03u] %llu.%09llu: %10llu %s:\n", cpu,
		(unsigned long long)(time_ns / NS), (unsigned long long)(time_ns % NS),
		(unsigned long long)weight_ns, kind);
	if (s->text.failed)
		return error_memory(SUBJECT);
	output_write(s->output, s->text.data, s->text.size);
	output_puts(s->output, stack);
	s->any = true;
	return output_error(s->output);
}

/* Its end in the run queue has a stack of its own: that of another reason. */
static int put_wait(struct perf_script *s, const struct profile_event *e)
{
	const struct profile_wait *w = &e->wait;
	uint64_t queued_ns = w->queued_ns < w->duration_ns ? w->queued_ns : w->duration_ns;
	uint64_t asleep_ns = w->duration_ns - queued_ns;
	struct profile_event queued = *e;
	int error = 0;

	if (profile_is_profiler(s->reader, w->thread))
		return 0;
	queued.wait.reason = WAIT_RUN_QUEUE;
	if (asleep_ns)
		error = put_event(s, e, "off-cpu", w->thread, 0, w->start_ns, asleep_ns);
	if (!error && queued_ns)
		error = put_event(
			s, &queued, "off-cpu", w->thread, 0, w->start_ns + asleep_ns, queued_ns);
	return error;
}

/* A sample has the time at which its CPU time ends, so that those of a thread stand in order. */
static int add_event(void *arg, const struct profile_event *e, const struct event_span *span)
{
	struct perf_script *s = arg;

	if (e->kind == EVENT_SAMPLE && s->shows & VIEW_SHOWS_CPU)
		return put_event(s, e, "cpu-clock", e->sample.thread, e->sample.cpu,
			span->start_ns + span->duration_ns, span->duration_ns);
	if (e->kind == EVENT_WORK && s->shows & VIEW_SHOWS_GPU)
		return put_event(s, e, "gpu", e->work.thread, 0, span->start_ns,
			profile_weighed_piece(span->duration_ns, e->work.weight, &e->work.cut));
	if (e->kind == EVENT_WAIT && s->shows & VIEW_SHOWS_WAITS)
		return put_wait(s, e);
	return 0;
}

int export_perf_script(const char *path, const struct export_options *options, struct output *o,
	struct export_result *ret)
{
	struct perf_script s = {.output = o, .shows = view_of(&options->view)->shows};
	struct export_input input;
	int error = export_open(&input, path, options);

	if (error)
		return error;
	s.reader = input.reader;
	if (!options->view.view)
		s.shows |= VIEW_SHOWS_WAITS;
	error = export_read_all(&input, ret);
	error = error ?: event_places_init(&s.places, s.reader, &options->view);
	error = error ?: events_in_order(s.reader, add_event, &s);
	ret->empty = !s.any;
	vec_foreach (stack, &s.stacks)
		free(*stack);
	vec_release(&s.stacks);
	event_places_release(&s.places);
	buf_release(&s.text);
	buf_release(&s.name);
	export_close(&input);
	return error;
}
