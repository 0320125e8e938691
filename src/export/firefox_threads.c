// SPDX-License-Identifier: MIT
/* Samples and markers are columns: each is written on its own, from the same items. */
#include "export/firefox_threads.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/error.h"

#define SUBJECT "the file for Firefox Profiler"

static const char *const schemas =
	"\"markerSchema\":["
	"{\"name\":\"GPU "
	"work\",\"tooltipLabel\":\"{marker.name}\",\"tableLabel\":\"{marker.name}\","
	"\"chartLabel\":\"{marker.name}\",\"display\":[\"marker-chart\",\"marker-table\","
	"\"timeline-overview\"],\"fields\":["
	"{\"key\":\"delay\",\"label\":\"After its launch\",\"format\":\"nanoseconds\"},"
	"{\"key\":\"grid\",\"label\":\"Grid\",\"format\":\"string\"},"
	"{\"key\":\"block\",\"label\":\"Block\",\"format\":\"string\"},"
	"{\"key\":\"bytes\",\"label\":\"Bytes\",\"format\":\"bytes\"}]},\n"
	"{\"name\":\"GPU "
	"call\",\"tooltipLabel\":\"{marker.name}\",\"tableLabel\":\"{marker.name}\","
	"\"chartLabel\":\"{marker.name}\",\"display\":[\"marker-chart\",\"marker-table\"],"
	"\"fields\":[]},\n"
	"{\"name\":\"Wait\",\"tooltipLabel\":\"{marker.name}\",\"tableLabel\":\"{marker.name}\","
	"\"chartLabel\":\"{marker.name}\",\"display\":[\"marker-chart\",\"marker-table\"],"
	"\"fields\":[]},\n"
	"{\"name\":\"Marker\",\"tooltipLabel\":\"{marker.name}\",\"tableLabel\":\"{marker.name}\","
	"\"chartLabel\":\"{marker.name}\",\"display\":[\"marker-chart\",\"marker-table\","
	"\"timeline-overview\"],\"fields\":[],\"isStackBased\":true}]";

void firefox_put_schemas(struct output *o)
{
	output_puts(o, schemas);
}

void firefox_put_ms(struct output *o, uint64_t ns)
{
	output_printf(o, "%" PRIu64 ".%06" PRIu64, ns / FIREFOX_NS_IN_MS, ns % FIREFOX_NS_IN_MS);
}

static const char *type_of(const struct firefox_item *i)
{
	return i->kind == EVENT_WORK   ? "GPU work"
	       : i->kind == EVENT_CALL ? "GPU call"
	       : i->kind == EVENT_WAIT ? "Wait"
				       : "Marker";
}

/* ------------------------------------------------------------------ columns */

static uint64_t end_of(const struct firefox_item *i)
{
	return i->duration_ns < UINT64_MAX - i->start_ns ? i->start_ns + i->duration_ns
							 : UINT64_MAX;
}

static bool is_sample(const struct firefox_item *i)
{
	return i->kind == EVENT_SAMPLE || i->kind == EVENT_WORK;
}

enum sample_column { SAMPLE_STACK, SAMPLE_TIME, SAMPLE_WEIGHT };

/* item NULL: nothing, from at_ns on. */
static void put_sample(struct firefox_threads *f, const struct firefox_item *item, uint64_t at_ns,
	enum sample_column column)
{
	if (column == SAMPLE_STACK)
		firefox_put_stack(f->tables, item ? item->node : TREE_ROOT_NODE);
	else if (column == SAMPLE_TIME)
		firefox_put_ms(f->tables->output, (item ? item->start_ns : at_ns) - f->start_ns);
	else
		firefox_put_ms(f->tables->output, item ? item->duration_ns : 0);
}

static size_t put_sample_column(struct firefox_threads *f, const struct firefox_line *line,
	const char *name, enum sample_column column)
{
	size_t count = 0;
	uint64_t end_ns = 0;

	output_printf(f->tables->output, ",\n\"%s\":[", name);
	vec_foreach (item, &line->items) {
		if (!is_sample(item))
			continue;
		if (count && item->start_ns > end_ns) {
			output_putc(f->tables->output, ',');
			put_sample(f, NULL, end_ns, column);
			count++;
		}
		if (count++)
			output_putc(f->tables->output, ',');
		put_sample(f, item, 0, column);
		end_ns = end_of(item) > end_ns ? end_of(item) : end_ns;
	}
	if (count) {
		output_putc(f->tables->output, ',');
		put_sample(f, NULL, end_ns, column);
		count++;
	}
	output_puts(f->tables->output, "]");
	return count;
}

static void put_samples(struct firefox_threads *f, const struct firefox_line *line)
{
	size_t count;

	output_puts(f->tables->output, ",\n\"samples\":{\"weightType\":\"tracing-ms\"");
	(void)put_sample_column(f, line, "stack", SAMPLE_STACK);
	(void)put_sample_column(f, line, "time", SAMPLE_TIME);
	count = put_sample_column(f, line, "weight", SAMPLE_WEIGHT);
	output_printf(f->tables->output, ",\"length\":%zu}", count);
}

static uint32_t name_of_marker(struct firefox_threads *f, const struct firefox_item *i, int *error)
{
	uint32_t string = 0;

	if (i->kind != EVENT_MARKER && i->node)
		return tree_nodes(f->tables->tree)[i->node].frame;
	*error = *error
			 ?: firefox_string(f->tables,
				    i->kind == EVENT_MARKER
					    ? profile_string(f->tables->reader, i->what, NULL)
					    : type_of(i),
				    &string);
	return string;
}

static void put_shape(struct firefox_threads *f, const char *name, const uint32_t of[3])
{
	output_printf(f->tables->output, ",\"%s\":\"%u, %u, %u\"", name, of[0], of[1], of[2]);
}

static void put_data(struct firefox_threads *f, const struct firefox_item *i)
{
	const struct profile_op *op =
		i->kind == EVENT_WORK ? profile_op(f->tables->reader, i->what) : NULL;
	uint32_t cause = i->node ? tree_nodes(f->tables->tree)[i->node].parent : TREE_ROOT_NODE;

	output_printf(f->tables->output, "{\"type\":\"%s\"", type_of(i));
	if (cause) {
		output_puts(f->tables->output, ",\"cause\":{\"stack\":");
		firefox_put_stack(f->tables, cause);
		output_putc(f->tables->output, '}');
	}
	if (op && i->launch_ns && i->launch_ns <= i->start_ns)
		output_printf(f->tables->output, ",\"delay\":%" PRIu64, i->start_ns - i->launch_ns);
	if (op && op->kind == OP_KERNEL) {
		put_shape(f, "grid", op->grid);
		put_shape(f, "block", op->block);
	}
	if (op && op->kind != OP_KERNEL)
		output_printf(f->tables->output, ",\"bytes\":%" PRIu64, i->bytes);
	output_putc(f->tables->output, '}');
}

enum marker_column {
	MARKER_DATA,
	MARKER_NAME,
	MARKER_START,
	MARKER_END,
	MARKER_PHASE,
	MARKER_CATEGORY
};

static int put_marker_value(
	struct firefox_threads *f, const struct firefox_item *i, enum marker_column column)
{
	bool lasts = i->kind != EVENT_MARKER || i->duration_ns;
	int error = 0;

	if (column == MARKER_DATA)
		put_data(f, i);
	else if (column == MARKER_NAME)
		output_u64(f->tables->output, name_of_marker(f, i, &error));
	else if (column == MARKER_START)
		firefox_put_ms(f->tables->output, i->start_ns - f->start_ns);
	else if (column == MARKER_END && lasts)
		firefox_put_ms(f->tables->output, end_of(i) - f->start_ns);
	else if (column == MARKER_END)
		output_puts(f->tables->output, "null");
	else if (column == MARKER_PHASE)
		output_u64(f->tables->output, lasts);
	else
		output_u64(f->tables->output, firefox_category(f->tables, i->node));
	return error;
}

static int put_markers(struct firefox_threads *f, const struct firefox_line *line)
{
	static const char *const names[] = {[MARKER_DATA] = "data",
		[MARKER_NAME] = "name",
		[MARKER_START] = "startTime",
		[MARKER_END] = "endTime",
		[MARKER_PHASE] = "phase",
		[MARKER_CATEGORY] = "category"};
	size_t count = 0;
	int error = 0;

	output_puts(f->tables->output, ",\n\"markers\":{");
	for (unsigned int column = 0; column <= MARKER_CATEGORY; column++) {
		output_printf(f->tables->output, "\n\"%s\":[", names[column]);
		count = 0;
		vec_foreach (item, &line->items) {
			if (item->kind == EVENT_SAMPLE)
				continue;
			if (count++)
				output_putc(f->tables->output, ',');
			error = error ?: put_marker_value(f, item, column);
		}
		output_puts(f->tables->output, "],");
	}
	output_printf(f->tables->output, "\"length\":%zu}", count);
	return error;
}

/* ------------------------------------------------------------------ threads */

static void name_line(struct firefox_threads *f, const struct firefox_line *l, struct buf *b)
{
	const struct profile_thread *t = profile_thread(f->tables->reader, l->thread);

	buf_reset(b);
	if (l->is_stream && profile_device(f->tables->reader, l->device))
		buf_printf(b, "GPU %u stream %u",
			device_number(&f->devices, f->tables->reader, l->device), l->stream);
	else if (l->is_stream)
		buf_printf(b, "GPU not known stream %u", l->stream);
	else if (t)
		buf_puts(b, profile_thread_name(f->tables->reader, t, NULL));
	else
		buf_puts(b, "thread not known");
}

/* Whatever has a number of its own: streams have no tid. */
static int put_ids(struct firefox_threads *f, const struct firefox_line *l)
{
	const struct profile_thread *t = profile_thread(f->tables->reader, l->thread);
	const struct profile_process *p =
		profile_process(f->tables->reader, l->is_stream ? l->process
						   : t		? t->process
								: 0);
	char tid[96];
	int error;

	if (l->is_stream)
		snprintf(tid, sizeof(tid), "device %u context %u stream %u", l->device, l->context,
			l->stream);
	else
		snprintf(tid, sizeof(tid), "%u", t ? t->tid : 0);
	error = firefox_put_text(f->tables, ",\"processName\":",
		p ? profile_string(f->tables->reader, p->comm, NULL) : "process not known");
	output_printf(f->tables->output,
		",\"pid\":\"%u\",\"tid\":\"%s\",\"isMainThread\":%s,"
		"\"processType\":\"default\",\"processStartupTime\":0,"
		"\"processShutdownTime\":null,\"registerTime\":0,\"unregisterTime\":null,"
		"\"pausedRanges\":[],\"showMarkersInTimeline\":true",
		p ? p->pid : 0, tid, p && t && t->tid == p->pid ? "true" : "false");
	return error;
}

int firefox_put_line(struct firefox_threads *f, const struct firefox_line *l, const char *before)
{
	struct buf name = BUF_INIT;
	int error;

	name_line(f, l, &name);
	error = name.failed ? error_memory(SUBJECT)
			    : firefox_put_text(f->tables, before, buf_text(&name));
	buf_release(&name);
	error = error ?: put_ids(f, l);
	if (error)
		return error;
	put_samples(f, l);
	error = put_markers(f, l);
	output_puts(f->tables->output, "}");
	return error ?: output_error(f->tables->output);
}
