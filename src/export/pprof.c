// SPDX-License-Identifier: MIT
/*
 * A profile for pprof: one message, compressed. Each sum (view/events/costs.h) is a sample with one
 * of four values, its stack and labels; frames are functions, and each function has one location.
 *
 * Samples are written as they come, then the tables that they refer to. Memory is for the distinct
 * stacks and names.
 *
 * Format: github.com/google/pprof, proto/profile.proto.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/printable.h"
#include "base/protobuf.h"
#include "export/exporter.h"
#include "export/frame_places.h"
#include "export/gzip.h"
#include "view/events/costs.h"
#include "view/fold/command_title.h"
#include "view/names/device.h"
#include "view/names/label.h"

#define SUBJECT "the profile for pprof"

#define FLUSH_BYTES ((size_t)64 << 10)
#define MAPPING	    1

/* Field numbers. */
enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE,
	PROFILE_MAPPING,
	PROFILE_LOCATION,
	PROFILE_FUNCTION,
	PROFILE_STRING,
	PROFILE_TIME = 9,
	PROFILE_DURATION,
	PROFILE_COMMENT = 13,
	PROFILE_DEFAULT
};
enum { TYPE_TYPE = 1, TYPE_UNIT };
enum { SAMPLE_LOCATION = 1, SAMPLE_VALUE, SAMPLE_LABEL };
enum { LABEL_KEY = 1, LABEL_TEXT };
enum { MAPPING_ID = 1, MAPPING_FILE = 5, MAPPING_HAS_FUNCTIONS = 7 };
enum { LOCATION_ID = 1, LOCATION_MAPPING, LOCATION_LINE = 4 };
enum { LINE_FUNCTION = 1, LINE_NUMBER };
enum { FUNCTION_ID = 1, FUNCTION_NAME, FUNCTION_SYSTEM_NAME, FUNCTION_FILE };

static const struct {
	const char *name, *unit;
	unsigned int shows; /* of views */
} types[COSTS] = {
	[COST_CPU] = {"cpu", "nanoseconds", VIEW_SHOWS_CPU},
	[COST_OFF_CPU] = {"off-cpu", "nanoseconds", VIEW_SHOWS_WAITS},
	[COST_GPU] = {"gpu", "nanoseconds", VIEW_SHOWS_GPU},
	[COST_STALLS] = {"stalls", "count", VIEW_SHOWS_STALLS},
};

struct pprof {
	struct gzip *gzip;
	const struct profile_reader *reader;
	struct costs costs;
	struct frame_place *places; /* by frame */
	struct device_numbers devices;
	struct interner *strings; /* their ids are those of the file, where 0 is "" */
	uint32_t string_count;
	uint64_t totals[COSTS];
	bool any;
	struct buf message, text;
};

static uint32_t string_id(struct pprof *p, const char *text, size_t size)
{
	uint32_t id = 0;

	if (size && interner_add(p->strings, text, size, &id, NULL))
		p->message.failed = true;
	if (id > p->string_count)
		p->string_count = id;
	return id;
}

/* Of `text`, made printable. */
static uint32_t text_id(struct pprof *p, const char *text, size_t size)
{
	struct buf printable = BUF_INIT;
	uint32_t id;

	printable_put(&printable, text, size);
	id = string_id(p, buf_text(&printable), printable.size);
	buf_release_for(&printable, &p->message);
	return id;
}

static void put_text(struct pprof *p, uint32_t field, const char *text)
{
	protobuf_number(&p->message, field, text_id(p, text, strlen(text)));
}

static int flush(struct pprof *p)
{
	int error = p->message.failed ? error_memory(SUBJECT)
				      : gzip_write(p->gzip, p->message.data, p->message.size);

	buf_reset(&p->message);
	return error;
}

static int flush_when_full(struct pprof *p)
{
	return p->message.failed || p->message.size >= FLUSH_BYTES ? flush(p) : 0;
}

static void put_label(struct pprof *p, const char *key, const char *value)
{
	size_t mark = protobuf_begin(&p->message, SAMPLE_LABEL);

	put_text(p, LABEL_KEY, key);
	put_text(p, LABEL_TEXT, value);
	protobuf_end(&p->message, mark);
}

static void put_numbered(struct pprof *p, const char *key, const char *name, uint32_t number)
{
	buf_reset(&p->text);
	buf_printf(&p->text, "%s %u", name, number);
	put_label(p, key, buf_text(&p->text));
	p->message.failed |= p->text.failed;
}

static void put_labels(struct pprof *p, const struct cost *cost)
{
	const struct profile_thread *t = profile_thread(p->reader, cost->thread);
	const struct profile_op *op = profile_op(p->reader, cost->op);
	const struct profile_process *process = profile_process(p->reader, t	? t->process
									   : op ? op->process
										: 0);

	if (process)
		put_numbered(
			p, "process", profile_string(p->reader, process->comm, NULL), process->pid);
	if (t)
		put_numbered(p, "thread", profile_thread_name(p->reader, t, NULL), t->tid);
	if (op && profile_device(p->reader, op->device))
		put_numbered(p, "device", "GPU", device_number(&p->devices, p->reader, op->device));
	if (op)
		put_numbered(p, "stream", "stream", op->stream);
	if (cost->reason)
		put_label(p, "reason", cost->reason);
}

static int put_sample(void *arg, const struct cost *cost)
{
	struct pprof *p = arg;
	const struct tree_node *nodes = tree_nodes(p->costs.tree);
	size_t sample = protobuf_begin(&p->message, PROFILE_SAMPLE), mark;

	mark = protobuf_begin(&p->message, SAMPLE_LOCATION);
	for (uint32_t n = cost->node; n != TREE_ROOT_NODE; n = nodes[n].parent)
		protobuf_packed(&p->message, (uint64_t)nodes[n].frame + 1);
	protobuf_end(&p->message, mark);
	mark = protobuf_begin(&p->message, SAMPLE_VALUE);
	for (unsigned int kind = 0; kind < COSTS; kind++)
		protobuf_packed(&p->message, kind == cost->kind ? cost->value : 0);
	protobuf_end(&p->message, mark);
	put_labels(p, cost);
	protobuf_end(&p->message, sample);
	p->totals[cost->kind] += cost->value;
	p->any = true;
	return flush_when_full(p);
}

static void put_types(struct pprof *p)
{
	for (unsigned int kind = 0; kind < COSTS; kind++) {
		size_t mark = protobuf_begin(&p->message, PROFILE_SAMPLE_TYPE);

		put_text(p, TYPE_TYPE, types[kind].name);
		put_text(p, TYPE_UNIT, types[kind].unit);
		protobuf_end(&p->message, mark);
	}
}

static void put_function(struct pprof *p, uint32_t id, const struct tree_frame *f)
{
	const struct frame_place *place = &p->places[id - 1];
	size_t mark = protobuf_begin(&p->message, PROFILE_LOCATION), line;

	protobuf_number(&p->message, LOCATION_ID, id);
	protobuf_number(&p->message, LOCATION_MAPPING, MAPPING);
	line = protobuf_begin(&p->message, LOCATION_LINE);
	protobuf_number(&p->message, LINE_FUNCTION, id);
	if (place->line)
		protobuf_number(&p->message, LINE_NUMBER, place->line);
	protobuf_end(&p->message, line);
	protobuf_end(&p->message, mark);
	buf_reset(&p->text);
	tree_label(f, &p->text);
	p->message.failed |= p->text.failed;
	mark = protobuf_begin(&p->message, PROFILE_FUNCTION);
	protobuf_number(&p->message, FUNCTION_ID, id);
	protobuf_number(&p->message, FUNCTION_NAME,
		text_id(p, p->text.size ? buf_text(&p->text) : "(no name)",
			p->text.size ? p->text.size : strlen("(no name)")));
	/* pprof shortens names that are no other than the linker's. */
	if (p->text.size != f->size || memcmp(p->text.data, f->name, f->size))
		protobuf_number(&p->message, FUNCTION_SYSTEM_NAME, text_id(p, f->name, f->size));
	if (place->file)
		put_text(p, FUNCTION_FILE, profile_string(p->reader, place->file, NULL));
	protobuf_end(&p->message, mark);
}

static int put_functions(struct pprof *p)
{
	size_t count = tree_frame_count(p->costs.tree);
	int error = frame_places_find(p->costs.tree, p->reader, p->costs.shown.lines, &p->places);

	for (uint32_t i = 0; !error && i < count; i++) {
		put_function(p, i + 1, &tree_frames(p->costs.tree)[i]);
		error = flush_when_full(p);
	}
	return error;
}

/* pprof takes the first file of a profile for the program. */
static void put_program(struct pprof *p)
{
	const char *command = profile_meta(p->reader, META_COMMAND);
	size_t mark = protobuf_begin(&p->message, PROFILE_MAPPING);

	protobuf_number(&p->message, MAPPING_ID, MAPPING);
	buf_reset(&p->text);
	if (command)
		command_title(command, &p->text);
	put_text(p, MAPPING_FILE, buf_text(&p->text));
	protobuf_number(&p->message, MAPPING_HAS_FUNCTIONS, 1);
	protobuf_end(&p->message, mark);
}

static void put_comment(struct pprof *p, const char *key, const char *value)
{
	buf_reset(&p->text);
	buf_printf(&p->text, "%s: %s", key, value);
	put_text(p, PROFILE_COMMENT, buf_text(&p->text));
	p->message.failed |= p->text.failed;
}

static void put_facts(struct pprof *p)
{
	uint64_t start_ns = profile_meta_number(p->reader, META_START_NS, 0),
		 end_ns = profile_meta_number(p->reader, META_END_NS, 0),
		 realtime_ns = profile_meta_number(p->reader, META_REALTIME_NS, 0);
	const char *incomplete = profile_reader_incomplete(p->reader);
	char count[32];

	if (view_is_simulated(p->reader))
		put_comment(p, "gpu", "simulated GPU");
	if (profile_is_in_bursts(p->reader))
		put_comment(p, "in bursts", "numbers and times of GPU work are estimates");
	if (incomplete)
		put_comment(p, "not whole", incomplete);
	for (unsigned int i = 1; i < LOSS_KINDS; i++) {
		if (!profile_loss_count(p->reader, i))
			continue;
		snprintf(count, sizeof(count), "%llu",
			(unsigned long long)profile_loss_count(p->reader, i));
		put_comment(p, profile_loss_key(i), count);
	}
	if (realtime_ns)
		protobuf_number(&p->message, PROFILE_TIME, realtime_ns + start_ns);
	if (end_ns > start_ns)
		protobuf_number(&p->message, PROFILE_DURATION, end_ns - start_ns);
}

/* The first that there is something of. */
static void put_default(struct pprof *p)
{
	for (unsigned int kind = 0; kind < COSTS; kind++)
		if (p->totals[kind]) {
			put_text(p, PROFILE_DEFAULT, types[kind].name);
			return;
		}
}

static int put_strings(struct pprof *p)
{
	int error = 0;

	protobuf_bytes(&p->message, PROFILE_STRING, "", 0);
	for (uint32_t id = 1; !error && id <= p->string_count; id++) {
		size_t size;
		const char *text = interner_get(p->strings, id, &size);

		protobuf_bytes(&p->message, PROFILE_STRING, text, size);
		error = flush_when_full(p);
	}
	return error ?: flush(p);
}

static int write_all(struct pprof *p)
{
	int error = device_numbers_init(&p->devices, p->reader);

	put_types(p);
	put_program(p);
	error = error ?: costs_each(&p->costs, put_sample, p);
	error = error ?: put_functions(p);
	if (error)
		return error;
	put_facts(p);
	put_default(p);
	error = put_strings(p);
	return error ?: gzip_finish(p->gzip);
}

/* What a view shows; without one, everything. */
static unsigned int kinds_of(const struct view_options *o)
{
	unsigned int kinds = 0;

	for (unsigned int kind = 0; kind < COSTS; kind++)
		if (!o->view || view_of(o)->shows & types[kind].shows)
			kinds |= 1u << kind;
	return kinds;
}

int export_pprof(const char *path, const struct export_options *options, struct output *o,
	struct export_result *ret)
{
	struct pprof p = {0};
	struct export_input input;
	int error = export_open(&input, path, options);

	if (error)
		return error;
	p.reader = input.reader;
	error = gzip_new(&p.gzip, o);
	if (!error && interner_new(&p.strings))
		error = error_memory(SUBJECT);
	error = error
			?: costs_read(&p.costs, input.reader, &options->view,
				   kinds_of(&options->view));
	export_note_input(ret, &input);
	error = error ?: write_all(&p);
	ret->empty = !p.any;
	free(p.places);
	costs_release(&p.costs);
	interner_free(p.strings);
	gzip_free(p.gzip);
	buf_release(&p.message);
	buf_release(&p.text);
	export_close(&input);
	return error;
}
