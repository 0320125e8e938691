// SPDX-License-Identifier: MIT
/*
 * The processed format of Firefox Profiler (profiler.firefox.com), version 70: a thread for each
 * thread and for each stream of a GPU.
 *
 *	thread   samples of it on a CPU, weighted with the time that they stand for; markers for its
 *	         calls of GPU APIs, its waits, and what programs marked
 *	stream   a sample for each piece of GPU work, on the code that asked for it, weighted with its
 *	         length; and a marker, with that code as its cause
 *
 * Between what was sampled there is a sample without stack and weight, so that nothing is drawn
 * there. Times and weights are milliseconds with six decimals: exact.
 *
 * A thread stands whole in the file, so what it consists of is kept until the end: 48 bytes an
 * event.
 *
 * Format: github.com/firefox-devtools/profiler, src/types/profile.ts and
 * docs-developer/CHANGELOG-formats.md.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "export/exporter.h"
#include "export/firefox_threads.h"
#include "view/events/order.h"
#include "view/events/places.h"
#include "view/fold/command_title.h"

#define SUBJECT	       "the file for Firefox Profiler"
#define FORMAT_VERSION 70

struct firefox {
	struct output *output;
	const struct profile_reader *reader;
	struct event_places places;
	struct firefox_tables tables;
	struct firefox_threads threads;
	struct interner *keys;
	struct vec(struct firefox_line *) lines;
	unsigned int shows;
	uint64_t start_ns;  /* of the file */
	uint64_t period_ns; /* of samples, the shortest */
};

/* ------------------------------------------------------------------ reading */

static int find_line(struct firefox *f, const struct firefox_line *like, struct firefox_line **ret)
{
	const uint32_t key[] = {like->is_stream, like->thread, like->process, like->device,
		like->context, like->stream};
	struct firefox_line *new;
	uint32_t id = 0;
	int added = 0;

	if (interner_add(f->keys, key, sizeof(key), &id, &added))
		return error_memory(SUBJECT);
	if (added) {
		new = calloc(1, sizeof(*new));
		if (!new || vec_push(&f->lines, new)) {
			free(new);
			return error_memory(SUBJECT);
		}
		*new = *like;
	}
	*ret = f->lines.items[id - 1];
	return 0;
}

static int keep(struct firefox *f, const struct firefox_line *like, const struct profile_event *e,
	const struct firefox_item *item)
{
	struct firefox_line *line = NULL;
	struct firefox_item kept = *item;
	int error = find_line(f, like, &line);

	kept.kind = e->kind;
	if (!error && e->kind != EVENT_MARKER)
		error = event_places_find(&f->places, e, &kept.node);
	if (!error && vec_push(&line->items, kept))
		error = error_memory(SUBJECT);
	if (kept.start_ns < f->start_ns)
		f->start_ns = kept.start_ns;
	return error;
}

static int keep_work(struct firefox *f, const struct profile_event *e, struct firefox_item item)
{
	static const struct profile_op unknown;
	const struct profile_op *op = profile_op(f->reader, e->work.op) ?: &unknown;
	const struct firefox_line like = {.is_stream = true,
		.process = op->process,
		.device = op->device,
		.context = op->context,
		.stream = op->stream};

	item.launch_ns = e->work.launch_ns;
	item.bytes = e->work.bytes;
	item.what = e->work.op;
	return keep(f, &like, e, &item);
}

/* A wait ends in the run queue. */
static int keep_wait(struct firefox *f, const struct profile_event *e)
{
	const struct profile_wait *w = &e->wait;
	const struct firefox_line like = {.thread = w->thread};
	uint64_t queued_ns = w->queued_ns < w->duration_ns ? w->queued_ns : w->duration_ns;
	struct firefox_item item = {
		.start_ns = w->start_ns, .duration_ns = w->duration_ns - queued_ns};
	struct profile_event queued = *e;
	int error = 0;

	if (profile_is_profiler(f->reader, w->thread))
		return 0;
	if (item.duration_ns)
		error = keep(f, &like, e, &item);
	queued.wait.reason = WAIT_RUN_QUEUE;
	item = (struct firefox_item){
		.start_ns = w->start_ns + item.duration_ns, .duration_ns = queued_ns};
	return !error && queued_ns ? keep(f, &like, &queued, &item) : error;
}

static int keep_sample(
	struct firefox *f, const struct profile_event *e, const struct firefox_item *item)
{
	if (e->sample.period_ns && (!f->period_ns || e->sample.period_ns < f->period_ns))
		f->period_ns = e->sample.period_ns;
	return keep(f, &(struct firefox_line){.thread = e->sample.thread}, e, item);
}

static int add_event(void *arg, const struct profile_event *e, const struct event_span *span)
{
	struct firefox *f = arg;
	struct firefox_item item = {.start_ns = span->start_ns, .duration_ns = span->duration_ns};

	if (e->kind == EVENT_MARKER) {
		item.what = e->marker.name;
		return keep(f, &(struct firefox_line){.thread = e->marker.thread}, e, &item);
	}
	if (!event_is_shown(e, f->shows))
		return 0;
	if (e->kind == EVENT_SAMPLE)
		return keep_sample(f, e, &item);
	if (e->kind == EVENT_CALL)
		return keep(f, &(struct firefox_line){.thread = e->call.thread}, e, &item);
	return e->kind == EVENT_WORK   ? keep_work(f, e, item)
	       : e->kind == EVENT_WAIT ? keep_wait(f, e)
				       : 0;
}

static int put_facts(struct firefox *f)
{
	const char *command = profile_meta(f->reader, META_COMMAND),
		   *host = profile_meta(f->reader, META_HOSTNAME),
		   *incomplete = profile_reader_incomplete(f->reader);
	const char *const facts[][2] = {{"Command", command}, {"Host", host},
		{"GPU", view_is_simulated(f->reader) ? "simulated" : NULL},
		{"Not whole", incomplete}};
	const char *comma = "";
	int error = 0;

	output_puts(f->output, ",\n\"extra\":[{\"label\":\"Recording\",\"entries\":[");
	for (size_t i = 0; !error && i < sizeof(facts) / sizeof(*facts); i++) {
		if (!facts[i][1])
			continue;
		output_printf(
			f->output, "%s{\"label\":\"%s\",\"format\":\"string\"", comma, facts[i][0]);
		error = firefox_put_text(&f->tables, ",\"value\":", facts[i][1]);
		output_puts(f->output, "}");
		comma = ",";
	}
	output_puts(f->output, "]}]");
	return error;
}

static int put_meta(struct firefox *f)
{
	const char *command = profile_meta(f->reader, META_COMMAND);
	uint64_t realtime_ns = profile_meta_number(f->reader, META_REALTIME_NS, 0);
	struct buf title = BUF_INIT;
	int error;

	if (command)
		command_title(command, &title);
	buf_puts(&title, view_is_simulated(f->reader) ? " (simulated GPU)" : "");
	error = title.failed
			? error_memory(SUBJECT)
			: firefox_put_text(&f->tables, "{\"meta\":{\"product\":", buf_text(&title));
	buf_release(&title);
	output_puts(f->output, ",\"interval\":");
	firefox_put_ms(f->output, f->period_ns ? f->period_ns : FIREFOX_NS_IN_MS);
	output_puts(f->output, ",\"startTime\":");
	firefox_put_ms(f->output, realtime_ns ? realtime_ns + f->start_ns : 0);
	output_printf(f->output,
		",\"processType\":0,\"stackwalk\":1,\"version\":30,"
		"\"preprocessedProfileVersion\":%u,\"symbolicated\":true,"
		"\"importedFrom\":\"xpuprof\",\"sourceCodeIsNotOnSearchfox\":true,"
		"\"usesOnlyOneStackType\":true,\"sampleUnits\":{\"time\":\"ms\","
		"\"eventDelay\":\"ms\",\"threadCPUDelta\":\"ns\"},\n",
		FORMAT_VERSION);
	firefox_put_categories(&f->tables);
	output_puts(f->output, ",\n");
	firefox_put_schemas(f->output);
	error = error ?: put_facts(f);
	output_puts(f->output, "},\n\"libs\":[],\n\"threads\":[");
	return error;
}

static int write_all(struct firefox *f)
{
	int error;

	f->threads.tables = &f->tables;
	f->threads.start_ns = f->start_ns;
	error = put_meta(f);

	for (size_t n = 0; !error && n < f->lines.count; n++)
		error = firefox_put_line(
			&f->threads, f->lines.items[n], n ? ",\n{\"name\":" : "\n{\"name\":");
	output_puts(f->output, "],\n");
	error = error ?: firefox_put_shared(&f->tables);
	output_puts(f->output, "}\n");
	return error;
}

static void release(struct firefox *f)
{
	vec_foreach (line, &f->lines) {
		vec_release(&(*line)->items);
		free(*line);
	}
	vec_release(&f->lines);
	interner_free(f->keys);
	firefox_tables_release(&f->tables);
	event_places_release(&f->places);
}

int export_firefox(const char *path, const struct export_options *options, struct output *o,
	struct export_result *ret)
{
	struct firefox f = {.output = o, .shows = view_of(&options->view)->shows};
	struct export_input input;
	int error = export_open(&input, path, options);

	if (error)
		return error;
	f.reader = input.reader;
	error = export_read_all(&input, ret);
	f.start_ns = profile_meta_number(f.reader, META_START_NS, UINT64_MAX);
	if (!error && interner_new(&f.keys))
		error = error_memory(SUBJECT);
	error = error ?: device_numbers_init(&f.threads.devices, f.reader);
	error = error ?: event_places_init(&f.places, f.reader, &options->view);
	error = error ?: events_in_order(f.reader, add_event, &f);
	error = error
			?: firefox_tables_init(
				   &f.tables, o, f.reader, f.places.tree, options->view.lines);
	error = error ?: write_all(&f);
	ret->empty = !f.lines.count;
	release(&f);
	export_close(&input);
	return error;
}
