// SPDX-License-Identifier: MIT
/*
 * A timeline in the Trace Event Format: complete events ("ph": "X") for API calls on the threads
 * that made them and for GPU work on rows of its own, in the order in which
 * they began (view/events/order.h), then the names of the rows, the stacks, and facts about the
 * recording. What is kept is one text for each distinct operation, one entry for each row, and the
 * distinct stacks.
 *
 * GPU rows: a "process" for each device, a "thread" for each stream. Viewers want the events of a
 * thread to nest, but work on one stream may overlap (branches of a graph), so a stream gets
 * as many lanes as it needs: a piece of work goes to the first lane that is free when it starts.
 *
 * What the kernel's GPU drivers did is a "process" of its own, with rows for each ring: jobs in its
 * queue, jobs that run, waits, whatever else has a duration (in lanes as well), and moments as
 * instants ("ph": "i").
 *
 * Arrows lead from calls to their work (chrome_flows.h). The times in which threads did not run and
 * samples of where they were when they did are in rows beside their calls (chrome_threads.h).
 *
 * A call, work and a sample have the number of their stack ("sf"), which is a node of a tree of
 * frames ("stackFrames").
 *
 * Blocks of kernels, where programs inside these saw them, have rows for each multiprocessor of
 * their device (chrome_blocks.h).
 *
 * Hardware counters are counter events ("ph": "C") of their device's process, one track each, with
 * the unit in its name. Such a value holds until the next, so a value equal to the last one is not
 * written.
 *
 * Format: Trace Event Format (Google), the parts that both Perfetto and chrome://tracing read.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/demangle.h"
#include "base/error.h"
#include "base/intern.h"
#include "base/json.h"
#include "base/map.h"
#include "export/chrome_blocks.h"
#include "export/chrome_flows.h"
#include "export/chrome_lanes.h"
#include "export/chrome_markers.h"
#include "export/chrome_stacks.h"
#include "export/chrome_threads.h"
#include "export/exporter.h"
#include "vendor/vendor.h"
#include "view/events/order.h"
#include "view/events/places.h"
#include "view/names/device.h"

#define SUBJECT "the timeline"

/* Ids of rows that cannot be pids or tids: those end at 2^22. */
#define DEVICE_PID_BASE 1000000000u
#define DRIVERS_PID	(DEVICE_PID_BASE - 1)
#define LANE_TID_BASE	1000000000u
#define RINGS_MAX	4096 /* more have the last one's rows; no machine has as many */

struct row {
	uint32_t process, device, context, stream;
	struct lanes lanes;
};

/* Of the events of drivers. */
struct ring_row {
	uint32_t source, ring, kind;
	struct lanes lanes;
};

/* An operation as it looks in every one of its events. */
struct op_text {
	char *head; /* from "{" to the tid, which follows */
	char *args; /* the members that do not change */
	uint32_t row;
};

/* The last value of a counter of a device. */
struct track {
	double value;
	uint64_t end_ns;
};

struct chrome {
	struct output *output;
	struct profile_reader *reader; /* that has read everything */
	struct event_places places;
	struct chrome_markers *markers;
	struct chrome_threads *beside;
	struct chrome_blocks *blocks;
	unsigned int shows;
	struct vec(struct op_text) ops; /* by op id */
	struct vec(struct row *) rows;
	struct interner *row_ids; /* process, device, context, stream: index of `rows`, plus 1 */
	struct vec(struct ring_row *) rings;
	struct interner *ring_ids;	 /* source, ring, kind: index of `rings`, plus 1 */
	struct vec(char *) calls;	 /* by string id of the API: as its events begin, or NULL */
	struct vec(struct lane) threads; /* by thread id; ends at 0: it has no events */
	struct vec(struct track) tracks;
	struct map track_of; /* device << 32 | counter: index of `tracks` */
	struct map counted;  /* devices (ids) with tracks */
	struct flows flows;
	uint32_t lane_tid; /* the last that was given */
	bool any;
	struct buf text;
};

static void separate(struct chrome *c)
{
	output_puts(c->output, c->any ? ",\n" : "\n");
	c->any = true;
}

static void put_name(struct buf *b, const char *prefix, const char *name)
{
	struct buf text = BUF_INIT;

	buf_puts(&text, prefix);
	if (!strncmp(name, "_Z", 2) || !strncmp(name, "_R", 2))
		demangle(name, &text);
	else
		buf_puts(&text, name);
	json_string(b, text.data, text.size);
	b->failed |= text.failed;
	buf_release(&text);
}

/* GPU work. */

static int find_row(struct chrome *c, const struct profile_op *op, uint32_t *ret)
{
	const uint32_t key[] = {op->process, op->device, op->context, op->stream};
	struct row *row;
	uint32_t id;
	int added;

	if (interner_add(c->row_ids, key, sizeof(key), &id, &added))
		return error_memory(SUBJECT);
	*ret = id - 1;
	if (!added)
		return 0;
	row = calloc(1, sizeof(*row));
	if (!row || vec_push(&c->rows, row)) {
		free(row);
		return error_memory(SUBJECT);
	}
	row->process = op->process;
	row->device = op->device;
	row->context = op->context;
	row->stream = op->stream;
	return 0;
}

static const char *kernel_name(const struct chrome *c, const struct profile_op *op)
{
	return profile_string(c->reader, op->name, NULL);
}

static void put_op_name(struct chrome *c, const struct profile_op *op, struct buf *b)
{
	buf_puts(b, "{\"ph\":\"X\",\"name\":");
	switch (op->kind) {
	case OP_COPY:
		put_name(b, "MemCopy: ", profile_copy_name(op->copy_kind));
		buf_puts(b, ",\"cat\":\"MemCopy\"");
		break;
	case OP_SET:
		buf_puts(b, "\"MemSet\",\"cat\":\"MemSet\"");
		break;
	default:
		put_name(b, "Kernel: ", kernel_name(c, op));
		buf_puts(b, ",\"cat\":\"GPU_Kernel\"");
		break;
	}
}

static void put_kernel_args(struct chrome *c, const struct profile_op *op, struct buf *b)
{
	buf_printf(b, "\"grid\":[%u,%u,%u],\"block\":[%u,%u,%u],\"registers\":%u,", op->grid[0],
		op->grid[1], op->grid[2], op->block[0], op->block[1], op->block[2], op->registers);
	buf_printf(b,
		"\"sharedStatic\":%u,\"sharedDynamic\":%u,\"linkerName\":", op->shared_static_bytes,
		op->shared_dynamic_bytes);
	json_string(b, kernel_name(c, op), strlen(kernel_name(c, op)));
	buf_putc(b, ',');
}

static void put_op_args(struct chrome *c, const struct profile_op *op, struct buf *b)
{
	const struct profile_device *d = profile_device(c->reader, op->device);

	if (op->kind == OP_KERNEL)
		put_kernel_args(c, op, b);
	if (op->kind == OP_COPY)
		buf_printf(b, "\"from\":\"%s\",", profile_memory_name(op->source_memory));
	if (op->kind == OP_COPY || op->kind == OP_SET)
		buf_printf(b, "\"to\":\"%s\",", profile_memory_name(op->target_memory));
	buf_printf(b, "\"deviceId\":%u,\"contextId\":%u,\"streamId\":%u", d ? d->ordinal : 0,
		op->context, op->stream);
}

static int describe_op(struct chrome *c, const struct profile_op *op, struct op_text *t)
{
	int error = find_row(c, op, &t->row);

	if (error)
		return error;
	buf_reset(&c->text);
	put_op_name(c, op, &c->text);
	buf_printf(&c->text, ",\"pid\":%u,\"tid\":", DEVICE_PID_BASE + op->device);
	t->head = c->text.failed ? NULL : strdup(c->text.data);
	buf_reset(&c->text);
	put_op_args(c, op, &c->text);
	t->args = c->text.failed ? NULL : strdup(c->text.data);
	return t->head && t->args ? 0 : error_memory(SUBJECT);
}

static int text_of_op(struct chrome *c, uint32_t id, struct op_text **ret)
{
	static const struct profile_op unknown = {.kind = OP_KERNEL};
	const struct profile_op *op = profile_op(c->reader, id);

	if (!op) {
		op = &unknown;
		id = 0;
	}
	while (c->ops.count <= id)
		if (vec_push(&c->ops, (struct op_text){0}))
			return error_memory(SUBJECT);
	*ret = &c->ops.items[id];
	return (*ret)->args ? 0 : describe_op(c, op, *ret);
}

static void put_member(struct output *o, const char *name, uint64_t value)
{
	output_puts(o, ",\"");
	output_puts(o, name);
	output_puts(o, "\":");
	output_u64(o, value);
}

/* A moment on the scale of "ts", if the recording has it. */
static void put_moment(struct output *o, const char *name, uint64_t time_ns)
{
	if (!time_ns)
		return;
	output_printf(o, ",\"%s\":", name);
	output_us(o, time_ns);
}

static uint64_t launch_key(uint32_t instance, uint32_t correlation)
{
	return (uint64_t)instance << 32 | correlation;
}

/* The end of an arrow; there is none where only one side is shown. */
static int add_flow(struct chrome *c, uint64_t key, const struct flow_end *end)
{
	if (!(c->shows & VIEW_SHOWS_GPU) || !(c->shows & VIEW_SHOWS_CPU))
		return 0;
	return flows_add(&c->flows, key, end, c->output) ? error_memory(SUBJECT) : 0;
}

/* What the event stands for, where it does for more than itself. */
static void put_weight(struct output *o, double weight)
{
	if (weight != 1)
		output_printf(o, ",\"weight\":%.6g", weight);
}

static int write_work(struct chrome *c, const struct profile_work *w, uint32_t stack)
{
	const struct profile_op *op = profile_op(c->reader, w->op);
	struct flow_end end = {
		.time_ns = w->start_ns,
		.pid = DEVICE_PID_BASE + (op ? op->device : 0),
		.is_work = true,
		.is_graph = w->graph_node,
	};
	struct output *o = c->output;
	struct op_text *t = NULL;
	struct lane *lane;
	int error = text_of_op(c, w->op, &t);

	if (error)
		return error;
	separate(c);
	output_puts(o, t->head);
	lane = lanes_find(&c->rows.items[t->row]->lanes, w->start_ns, &c->lane_tid);
	end.tid = lane->tid;
	output_u64(o, end.tid);
	lane_put_times(lane, o, w->start_ns, w->duration_ns);
	put_member(o, "sf", stack);
	output_puts(o, ",\"args\":{");
	output_puts(o, t->args);
	put_member(o, "correlationId", w->correlation);
	if (w->bytes)
		put_member(o, "bytes", w->bytes);
	if (w->graph_node)
		put_member(o, "graphNode", w->graph_node);
	put_moment(o, "queued", w->queued_ns);
	put_moment(o, "submitted", w->submitted_ns);
	put_weight(o, w->weight);
	output_puts(o, "}}");
	error = chrome_blocks_work(c->blocks, w, end.pid);
	return error ?: add_flow(c, launch_key(w->instance, w->correlation), &end);
}

/* Calls. */

static int find_thread(struct chrome *c, uint32_t id, struct lane **ret)
{
	while (c->threads.count <= id)
		if (vec_push(&c->threads, (struct lane){0}))
			return error_memory(SUBJECT);
	*ret = &c->threads.items[id];
	return 0;
}

/* With the API before it, if some vendor's table has that. */
static void put_call_name(struct buf *b, const struct vendor_api *of, const char *name)
{
	char prefix[32] = "";

	if (of)
		snprintf(prefix, sizeof(prefix), "%s: ", of->name);
	put_name(b, prefix, name);
}

/* How the events of a call begin. */
static int text_of_call(struct chrome *c, uint32_t api, const char **ret)
{
	const char *name = profile_string(c->reader, api, NULL);
	/* Some calls have underscores in front. */
	const char *bare = name + strspn(name, "_");
	const struct vendor_api *of = vendor_api_of(bare, strlen(bare));

	while (c->calls.count <= api)
		if (vec_push(&c->calls, NULL))
			return error_memory(SUBJECT);
	if (!c->calls.items[api]) {
		buf_reset(&c->text);
		buf_puts(&c->text, "{\"ph\":\"X\",\"name\":");
		put_call_name(&c->text, of, *name ? name : "unknown call");
		buf_printf(&c->text, ",\"cat\":\"%s\",\"pid\":", of ? of->category : "GPU_API");
		c->calls.items[api] = c->text.failed ? NULL : strdup(c->text.data);
	}
	*ret = c->calls.items[api];
	return *ret ? 0 : error_memory(SUBJECT);
}

static int write_call(struct chrome *c, const struct profile_call *call, uint32_t stack)
{
	const struct profile_thread *t = profile_thread(c->reader, call->thread);
	const struct profile_process *p = profile_process(c->reader, t ? t->process : 0);
	struct flow_end end = {
		.time_ns = call->start_ns, .pid = p ? p->pid : 0, .tid = t ? t->tid : 0};
	struct output *o = c->output;
	const char *head = NULL;
	struct lane *lane = NULL;
	int error = text_of_call(c, call->api, &head);

	error = error ?: find_thread(c, t ? call->thread : 0, &lane);
	if (error)
		return error;
	separate(c);
	output_puts(o, head);
	output_u64(o, p ? p->pid : 0);
	output_puts(o, ",\"tid\":");
	output_u64(o, t ? t->tid : 0);
	lane_put_times(lane, o, call->start_ns, call->duration_ns);
	if (call->stack)
		put_member(o, "sf", stack);
	output_puts(o, ",\"args\":{\"correlationId\":");
	output_u64(o, call->correlation);
	output_puts(o, ",\"kind\":\"");
	output_puts(o, profile_call_kind_name(call->kind));
	if (call->observed)
		output_puts(o, "\",\"observed\":true");
	else
		output_printf(o, "\",\"result\":%d", call->result);
	put_weight(o, call->weight);
	output_puts(o, "}}");
	if (call->kind == CALL_SYNC || call->kind == CALL_NODE || call->observed)
		return 0;
	return add_flow(c, launch_key(call->instance, call->correlation), &end);
}

/* Hardware counters. */

static int find_track(
	struct chrome *c, const struct profile_count *count, struct track **ret, bool *ret_new)
{
	uint64_t key = (uint64_t)count->device << 32 | count->counter;
	uint64_t *found = map_get(&c->track_of, key);

	*ret_new = !found;
	if (!found) {
		if (map_put(&c->track_of, key, c->tracks.count) ||
			map_put(&c->counted, count->device, 1) ||
			vec_push(&c->tracks, (struct track){0}))
			return error_memory(SUBJECT);
		found = map_get(&c->track_of, key);
	}
	*ret = &c->tracks.items[*found];
	return 0;
}

/* "DRAM read (byte/s)"; one that is in no table keeps the vendor's name. */
static void put_counter_name(struct chrome *c, uint32_t id, struct buf *b)
{
	const struct profile_counter *counter = profile_counter(c->reader, id);
	const char *name = counter ? profile_string(c->reader, counter->name, NULL) : "?";
	const char *unit = counter ? profile_string(c->reader, counter->unit, NULL) : "";
	int kind = counter_kind_of(name);
	struct buf text = BUF_INIT;

	buf_puts(&text, kind >= 0 ? counter_kind_at((size_t)kind)->words : name);
	if (*unit)
		buf_printf(&text, " (%s)", unit);
	json_string(b, buf_text(&text), text.size);
	b->failed |= text.failed;
	buf_release(&text);
}

static int write_count(struct chrome *c, const struct profile_count *count)
{
	struct track *track = NULL;
	bool first;
	int error = find_track(c, count, &track, &first);

	if (error)
		return error;
	if (!first && track->value == count->value &&
		track->end_ns + count->duration_ns >= count->start_ns) {
		track->end_ns = count->start_ns + count->duration_ns;
		return 0;
	}
	track->value = count->value;
	track->end_ns = count->start_ns + count->duration_ns;
	buf_reset(&c->text);
	put_counter_name(c, count->counter, &c->text);
	if (c->text.failed)
		return error_memory(SUBJECT);
	separate(c);
	output_printf(c->output, "{\"ph\":\"C\",\"name\":%s,\"pid\":%u,\"ts\":", c->text.data,
		DEVICE_PID_BASE + count->device);
	output_us(c->output, count->start_ns);
	output_printf(c->output, ",\"args\":{\"value\":%.6g}}", count->value);
	return 0;
}

/* Drivers. */

static int find_ring_row(struct chrome *c, const struct profile_driver *e, struct ring_row **ret)
{
	const uint32_t key[] = {e->source, e->ring, e->kind};
	struct ring_row *row;
	uint32_t id;
	int added;

	if (interner_add(c->ring_ids, key, sizeof(key), &id, &added))
		return error_memory(SUBJECT);
	if (!added || id > RINGS_MAX) {
		*ret = c->rings.items[id <= RINGS_MAX ? id - 1 : RINGS_MAX - 1];
		return 0;
	}
	row = calloc(1, sizeof(*row));
	if (!row || vec_push(&c->rings, row)) {
		free(row);
		return error_memory(SUBJECT);
	}
	row->source = e->source;
	row->ring = e->ring;
	row->kind = e->kind;
	*ret = row;
	return 0;
}

static void put_text_member(struct buf *b, const char *name, const char *text)
{
	buf_printf(b, ",\"%s\":", name);
	json_string(b, text, strlen(text));
}

/* Whose it is, and what else the event has. */
static void put_driver_args(struct chrome *c, const struct profile_driver *e, struct buf *b)
{
	const struct profile_thread *t = profile_thread(c->reader, e->thread);
	const struct profile_process *p = profile_process(c->reader, t ? t->process : 0);

	buf_puts(b, "\"args\":{\"source\":");
	json_string(b, profile_string(c->reader, e->source, NULL),
		strlen(profile_string(c->reader, e->source, NULL)));
	if (e->ring)
		put_text_member(b, "ring", profile_string(c->reader, e->ring, NULL));
	if (e->job)
		buf_printf(b, ",\"job\":%llu", (unsigned long long)e->job);
	if (e->bytes)
		buf_printf(b, ",\"bytes\":%llu", (unsigned long long)e->bytes);
	if (p) {
		buf_printf(b, ",\"pid\":%u,\"tid\":%u", p->pid, t->tid);
		put_text_member(b, "comm", profile_string(c->reader, p->comm, NULL));
	}
	if (e->foreign)
		buf_puts(b, ",\"recorded\":false");
	if (e->unfinished)
		buf_puts(b, ",\"ended\":false");
	buf_putc(b, '}');
}

static int write_driver(struct chrome *c, const struct profile_driver *e)
{
	const char *name = profile_string(c->reader, e->name, NULL);
	bool moment = e->kind == DRIVER_MOMENT;
	struct ring_row *row = NULL;
	struct lane *lane;
	int error = find_ring_row(c, e, &row);

	if (error)
		return error;
	lane = lanes_find(&row->lanes, moment ? UINT64_MAX : e->start_ns, &c->lane_tid);
	buf_reset(&c->text);
	buf_puts(&c->text,
		moment ? "{\"ph\":\"i\",\"s\":\"t\",\"name\":" : "{\"ph\":\"X\",\"name\":");
	json_string(&c->text, name, strlen(name));
	buf_printf(
		&c->text, ",\"cat\":\"GPU_Driver\",\"pid\":%u,\"tid\":%u,", DRIVERS_PID, lane->tid);
	put_driver_args(c, e, &c->text);
	if (c->text.failed)
		return error_memory(SUBJECT);
	separate(c);
	output_write(c->output, c->text.data, c->text.size);
	if (moment) {
		output_puts(c->output, ",\"ts\":");
		output_us(c->output, e->start_ns);
	} else {
		lane_put_times(lane, c->output, e->start_ns, e->duration_ns);
	}
	output_puts(c->output, "}");
	return 0;
}

/* Names. */

static int write_name(
	struct chrome *c, const char *what, uint32_t pid, uint32_t tid, const char *name)
{
	buf_reset(&c->text);
	json_string(&c->text, name, strlen(name));
	if (c->text.failed)
		return error_memory(SUBJECT);
	separate(c);
	output_printf(c->output,
		"{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%u,\"tid\":%u,\"args\":{\"name\":%s}}", what,
		pid, tid, c->text.data);
	return 0;
}

static int name_threads(struct chrome *c)
{
	int error = 0;

	for (uint32_t i = 1; !error && i < c->threads.count; i++) {
		const struct profile_thread *t = profile_thread(c->reader, i);
		const struct profile_process *p = t ? profile_process(c->reader, t->process) : NULL;

		if (!c->threads.items[i].end_ns || !p)
			continue;
		error = write_name(c, "process_name", p->pid, t->tid,
			profile_string(c->reader, p->comm, NULL));
		error = error
				?: write_name(c, "thread_name", p->pid, t->tid,
					   profile_thread_name(c->reader, t, NULL));
	}
	return error;
}

static int name_lanes(struct chrome *c, const struct row *row)
{
	const struct profile_process *p = profile_process(c->reader, row->process);
	int error = 0;

	for (unsigned int i = 0; !error && i < row->lanes.count; i++) {
		char name[96];
		int n = snprintf(name, sizeof(name), "stream %u (pid %u, context %u)", row->stream,
			p ? p->pid : 0, row->context);

		if (i)
			snprintf(name + n, sizeof(name) - (size_t)n, " overlap %u", i);
		error = write_name(c, "thread_name", DEVICE_PID_BASE + row->device,
			row->lanes.lane[i].tid, name);
	}
	return error;
}

static int name_device(struct chrome *c, const struct device_numbers *numbers, uint32_t id)
{
	const struct profile_device *d = profile_device(c->reader, id);
	char name[256];

	if (d)
		snprintf(name, sizeof(name), "GPU %u %s", device_number(numbers, c->reader, id),
			profile_string(c->reader, d->name, NULL));
	else
		snprintf(name, sizeof(name), "GPU not known");
	return write_name(c, "process_name", DEVICE_PID_BASE + id, 0, name);
}

static int name_rows(struct chrome *c)
{
	struct device_numbers numbers;
	struct map named = MAP_INIT;
	int error = device_numbers_init(&numbers, c->reader);

	for (size_t i = 0; !error && i < c->rows.count; i++) {
		const struct row *row = c->rows.items[i];

		if (!map_get(&named, row->device))
			error = map_put(&named, row->device, 1)
					? error_memory(SUBJECT)
					: name_device(c, &numbers, row->device);
		error = error ?: name_lanes(c, row);
	}
	for (uint32_t id = 0; !error && id <= profile_counts(c->reader).devices; id++)
		if (map_get(&c->counted, id) && !map_get(&named, id))
			error = name_device(c, &numbers, id);
	map_release(&named);
	return error;
}

/* "drm gfx_0.0.0 queued"; moments have nothing behind the ring. */
static int name_ring_lane(struct chrome *c, const struct ring_row *row, unsigned int lane)
{
	struct buf name = BUF_INIT;
	int error;

	buf_puts(&name, profile_string(c->reader, row->source, NULL));
	if (row->ring)
		buf_printf(&name, " %s", profile_string(c->reader, row->ring, NULL));
	if (row->kind != DRIVER_MOMENT)
		buf_printf(&name, " %s", profile_driver_kind_name(row->kind));
	if (lane)
		buf_printf(&name, " overlap %u", lane);
	error = name.failed ? error_memory(SUBJECT)
			    : write_name(c, "thread_name", DRIVERS_PID, row->lanes.lane[lane].tid,
				      name.data);
	buf_release(&name);
	return error;
}

static int name_rings(struct chrome *c)
{
	int error =
		c->rings.count ? write_name(c, "process_name", DRIVERS_PID, 0, "GPU drivers") : 0;

	for (size_t i = 0; !error && i < c->rings.count; i++)
		for (unsigned int lane = 0; !error && lane < c->rings.items[i]->lanes.count; lane++)
			error = name_ring_lane(c, c->rings.items[i], lane);
	return error;
}

/* The recording's metadata, and what it lost. */
static int write_other(struct chrome *c)
{
	struct buf *b = &c->text;
	const char *key, *value;

	buf_reset(b);
	buf_puts(b, ",\n\"otherData\":{\"clock\":\"CLOCK_MONOTONIC\"");
	if (view_is_simulated(c->reader))
		buf_puts(b, ",\"gpu\":\"simulated GPU\"");
	for (size_t i = 0; profile_meta_at(c->reader, i, &key, &value); i++) {
		buf_putc(b, ',');
		json_string(b, key, strlen(key));
		buf_putc(b, ':');
		json_lines(b, value, strlen(value));
	}
	for (unsigned int i = 1; i < LOSS_KINDS; i++)
		if (profile_loss_count(c->reader, i))
			buf_printf(b, ",\"lost_%s\":\"%llu\"", profile_loss_key(i),
				(unsigned long long)profile_loss_count(c->reader, i));
	if (chrome_blocks_missing(c->blocks))
		buf_printf(b, ",\"blocks_missing\":\"%llu\"",
			(unsigned long long)chrome_blocks_missing(c->blocks));
	buf_puts(b, "}}\n");
	if (b->failed)
		return error_memory(SUBJECT);
	output_write(c->output, b->data, b->size);
	return 0;
}

/* Those with a stack. */
static int write_stacked(
	struct chrome *c, const struct profile_event *e, const struct event_span *span)
{
	const struct tree_frame *leaf;
	uint32_t stack = 0;
	int error = event_places_find(&c->places, e, &stack);

	if (error)
		return error;
	if (e->kind == EVENT_WORK)
		return write_work(c, &e->work, stack);
	if (e->kind == EVENT_CALL)
		return write_call(c, &e->call, stack);
	leaf = &tree_frames(c->places.tree)[tree_nodes(c->places.tree)[stack].frame];
	return chrome_threads_sample(c->beside, e->sample.thread, span, stack, leaf);
}

static int write_event(void *arg, const struct profile_event *e, const struct event_span *span)
{
	struct chrome *c = arg;
	int error;

	if (e->kind == EVENT_PENDING)
		flows_forget(&c->flows, launch_key(e->pending.instance, e->pending.correlation));
	if (e->kind == EVENT_MARKER)
		return chrome_markers_put(c->markers, e, span) ?: output_error(c->output);
	if (!event_is_shown(e, c->shows))
		return 0;
	if (e->kind == EVENT_COUNT)
		error = write_count(c, &e->count);
	else if (e->kind == EVENT_DRIVER)
		error = write_driver(c, &e->driver);
	else if (e->kind == EVENT_WAIT || e->kind == EVENT_SYNC)
		error = chrome_threads_wait(c->beside, e);
	else
		error = write_stacked(c, e, span);
	return error ?: output_error(c->output);
}

static int write_all(struct chrome *c)
{
	int error;

	output_puts(c->output, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
	error = events_in_order(c->reader, write_event, c);
	error = error ?: name_threads(c);
	error = error ?: name_rows(c);
	error = error ?: name_rings(c);
	if (!error)
		chrome_blocks_name(c->blocks);
	error = error ?: chrome_threads_name(c->beside);
	error = error ?: chrome_markers_name(c->markers);
	error = error ?: chrome_stacks(c->places.tree, c->output);
	return error ?: write_other(c);
}

static void release(struct chrome *c)
{
	vec_foreach (op, &c->ops) {
		free(op->head);
		free(op->args);
	}
	vec_foreach (row, &c->rows)
		free(*row);
	vec_foreach (ring, &c->rings)
		free(*ring);
	vec_foreach (call, &c->calls)
		free(*call);
	vec_release(&c->ops);
	vec_release(&c->rows);
	interner_free(c->row_ids);
	vec_release(&c->rings);
	interner_free(c->ring_ids);
	vec_release(&c->calls);
	vec_release(&c->threads);
	vec_release(&c->tracks);
	map_release(&c->track_of);
	map_release(&c->counted);
	flows_release(&c->flows);
	chrome_threads_free(c->beside);
	chrome_blocks_free(c->blocks);
	chrome_markers_free(c->markers);
	event_places_release(&c->places);
	buf_release(&c->text);
}

static int begin(struct chrome *c, const struct export_options *options)
{
	int error = event_places_init(&c->places, c->reader, &options->view);

	if (!error && (interner_new(&c->row_ids) || interner_new(&c->ring_ids)))
		error = error_memory(SUBJECT);
	error = error ?: chrome_blocks_new(&c->blocks, c->reader, c->output, &c->any);
	error = error ?: chrome_threads_new(&c->beside, c->reader, c->output, &c->any);
	return error ?: chrome_markers_new(&c->markers, c->reader, c->output, &c->any);
}

int export_chrome(const char *path, const struct export_options *options, struct output *o,
	struct export_result *ret)
{
	struct chrome c = {
		.output = o, .shows = view_of(&options->view)->shows, .lane_tid = LANE_TID_BASE};
	struct export_input input;
	int error = export_open(&input, path, options);

	if (error)
		return error;
	c.reader = input.reader;
	error = export_read_all(&input, ret);
	error = error ?: begin(&c, options);
	error = error ?: write_all(&c);
	ret->empty = !c.any;
	release(&c);
	export_close(&input);
	return error;
}
