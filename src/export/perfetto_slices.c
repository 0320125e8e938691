// SPDX-License-Identifier: MIT
#include "export/perfetto_slices.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/demangle.h"
#include "base/error.h"
#include "base/printable.h"
#include "view/view.h"

#define SUBJECT "the trace for Perfetto"

/* An operation as it looks in every one of its events. */
struct op_event {
	uint32_t name; /* 0: not looked at yet */
	enum packet_category category;
	char *arguments;
	size_t size;
};

void slices_release(struct slices *s)
{
	vec_foreach (op, &s->ops)
		free(op->arguments);
	vec_release(&s->ops);
	vec_release(&s->calls);
	buf_release(&s->text);
	buf_release(&s->name);
}

uint32_t slices_name(struct slices *s, const char *name)
{
	buf_reset(&s->text);
	buf_reset(&s->name);
	if (!strncmp(name, "_Z", 2) || !strncmp(name, "_R", 2))
		demangle(name, &s->text);
	else
		buf_puts(&s->text, name);
	printable_put(&s->name, buf_text(&s->text), s->text.size);
	s->packets->interned.failed |= s->text.failed || s->name.failed;
	return packet_name(s->packets, buf_text(&s->name), s->name.size);
}

static uint32_t value_id(struct slices *s, const char *value)
{
	buf_reset(&s->name);
	printable_puts(&s->name, value);
	s->packets->interned.failed |= s->name.failed;
	return packet_value(s->packets, buf_text(&s->name), s->name.size);
}

/* An event that goes on from `span` on; its other fields come before slice_end. */
static int slice_begin(struct slices *s, const struct profile_event *e,
	const struct event_span *span, uint64_t *ret_track)
{
	uint32_t row = 0;
	int error = event_rows_find(s->rows, e, span, &row);

	error = error ?: track_of_row(s->tracks, row, ret_track);
	if (error)
		return error;
	packet_begin(s->packets, span->start_ns);
	packet_event_begin(s->packets, EVENT_BEGINS, *ret_track);
	return 0;
}

static int slice_end(struct slices *s, const struct event_span *span, uint64_t track)
{
	int error;

	packet_event_end(s->packets);
	error = packet_write(s->packets);
	if (error)
		return error;
	packet_begin(s->packets, span->start_ns + span->duration_ns);
	packet_event_begin(s->packets, EVENT_ENDS, track);
	packet_event_end(s->packets);
	s->any = true;
	return packet_write(s->packets);
}

static uint64_t launch_key(uint32_t instance, uint32_t correlation)
{
	return (uint64_t)instance << 32 | correlation;
}

static void put_weight(struct slices *s, double weight)
{
	if (weight != 1)
		packet_argument(&s->packets->block, PACKET_WEIGHT, profile_weighed(1, weight));
}

/* GPU work. */

static void put_shape(
	struct slices *s, struct buf *b, enum packet_argument argument, const uint32_t shape[3])
{
	char text[48];

	snprintf(text, sizeof(text), "%u x %u x %u", shape[0], shape[1], shape[2]);
	packet_text_argument(b, argument, value_id(s, text));
}

static int describe_op(struct slices *s, const struct profile_op *op, struct op_event *ret)
{
	struct buf b = BUF_INIT;

	switch (op->kind) {
	case OP_COPY:
		buf_printf(&b, "copy %s", profile_copy_name(op->copy_kind));
		ret->category = PACKET_COPY;
		ret->name = slices_name(s, buf_text(&b));
		buf_reset(&b);
		break;
	case OP_SET:
		ret->category = PACKET_SET;
		ret->name = slices_name(s, "memset");
		break;
	default:
		ret->category = PACKET_KERNEL;
		ret->name = slices_name(s, profile_string(s->reader, op->name, NULL));
		put_shape(s, &b, PACKET_GRID, op->grid);
		put_shape(s, &b, PACKET_BLOCK, op->block);
		break;
	}
	ret->arguments = b.data;
	ret->size = b.size;
	return b.failed ? error_memory(SUBJECT) : 0;
}

static int event_of_op(struct slices *s, uint32_t id, const struct op_event **ret)
{
	static const struct profile_op unknown = {.kind = OP_KERNEL};
	const struct profile_op *op = profile_op(s->reader, id);
	int error = 0;

	if (!op) {
		op = &unknown;
		id = 0;
	}
	while (s->ops.count <= id)
		if (vec_push(&s->ops, (struct op_event){0}))
			return error_memory(SUBJECT);
	if (!s->ops.items[id].name)
		error = describe_op(s, op, &s->ops.items[id]);
	*ret = &s->ops.items[id];
	return error;
}

int slices_work(struct slices *s, const struct profile_event *e, const struct event_span *span,
	uint32_t stack)
{
	const struct profile_work *w = &e->work;
	struct buf *b = &s->packets->block;
	const struct op_event *op = NULL;
	uint64_t track = 0;
	int error = slice_begin(s, e, span, &track);

	error = error ?: event_of_op(s, w->op, &op);
	if (error)
		return error;
	packet_event_name(s->packets, op->category, op->name);
	packet_event_stack(s->packets, stack);
	buf_append(b, op->arguments, op->size);
	packet_argument(b, PACKET_CORRELATION, w->correlation);
	if (w->bytes)
		packet_argument(b, PACKET_BYTES, w->bytes);
	if (w->graph_node)
		packet_argument(b, PACKET_GRAPH_NODE, w->graph_node);
	put_weight(s, w->weight);
	if (s->shows & VIEW_SHOWS_CPU)
		packet_event_flow(s->packets, launch_key(w->instance, w->correlation));
	return slice_end(s, span, track);
}

/* Calls. */

static int name_of_call(struct slices *s, uint32_t api, uint32_t *ret)
{
	const char *name = profile_string(s->reader, api, NULL);

	while (s->calls.count <= api)
		if (vec_push(&s->calls, 0))
			return error_memory(SUBJECT);
	if (!s->calls.items[api])
		s->calls.items[api] = slices_name(s, *name ? name : "unknown call");
	*ret = s->calls.items[api];
	return 0;
}

int slices_call(struct slices *s, const struct profile_event *e, const struct event_span *span,
	uint32_t stack)
{
	const struct profile_call *c = &e->call;
	uint64_t track = 0;
	uint32_t name = 0;
	int error = slice_begin(s, e, span, &track);

	error = error ?: name_of_call(s, c->api, &name);
	if (error)
		return error;
	packet_event_name(s->packets, PACKET_CALL, name);
	if (c->stack)
		packet_event_stack(s->packets, stack);
	packet_argument(&s->packets->block, PACKET_CORRELATION, c->correlation);
	if (c->result)
		packet_argument(&s->packets->block, PACKET_RESULT, (uint32_t)c->result);
	put_weight(s, c->weight);
	if (s->shows & VIEW_SHOWS_GPU && c->kind != CALL_SYNC && c->kind != CALL_NODE &&
		!c->observed)
		packet_event_flow(s->packets, launch_key(c->instance, c->correlation));
	return slice_end(s, span, track);
}

/* Waits. */

static int write_wait_part(struct slices *s, const struct profile_event *e,
	const struct event_span *span, uint32_t stack, enum profile_wait_reason reason)
{
	const struct profile_wait *w = &e->wait;
	const struct profile_thread *waker = profile_thread(s->reader, w->waker);
	uint64_t track = 0;
	int error;

	if (!span->duration_ns)
		return 0;
	error = slice_begin(s, e, span, &track);
	if (error)
		return error;
	packet_event_name(
		s->packets, PACKET_WAIT, slices_name(s, profile_wait_reason_name(reason)));
	if (w->stack)
		packet_event_stack(s->packets, stack);
	if (waker)
		packet_text_argument(&s->packets->block, PACKET_WAKER,
			value_id(s, profile_thread_name(s->reader, waker, NULL)));
	if (w->others && reason == w->reason) {
		packet_argument(&s->packets->block, PACKET_OTHERS, w->others);
		packet_argument(&s->packets->block, PACKET_OTHERS_NS, w->others_ns);
	}
	return slice_end(s, span, track);
}

/* The end of a wait, in the run queue, stands behind it. */
int slices_wait(struct slices *s, const struct profile_event *e, const struct event_span *span,
	uint32_t stack)
{
	uint64_t queued_ns =
		e->wait.queued_ns < span->duration_ns ? e->wait.queued_ns : span->duration_ns;
	struct event_span part = {span->start_ns, span->duration_ns - queued_ns};
	int error;

	if (profile_is_profiler(s->reader, e->wait.thread))
		return 0;
	error = write_wait_part(s, e, &part, stack, e->wait.reason);
	part = (struct event_span){part.start_ns + part.duration_ns, queued_ns};
	return error ?: write_wait_part(s, e, &part, stack, WAIT_RUN_QUEUE);
}

int slices_sync(struct slices *s, const struct profile_event *e, const struct event_span *span,
	uint32_t stack)
{
	static const char *const what[SYNC_KINDS] = {[SYNC_STREAM] = "all of stream",
		[SYNC_EVENT] = "event of stream",
		[SYNC_CONTEXT] = "context"};
	const struct profile_sync *w = &e->sync;
	char name[64];
	uint64_t track = 0;
	int error = slice_begin(s, e, span, &track);

	if (error)
		return error;
	snprintf(name, sizeof(name), "%s %u", what[w->kind],
		w->kind == SYNC_CONTEXT ? w->context : w->stream);
	packet_event_name(s->packets, PACKET_WAIT, slices_name(s, name));
	if (w->stack)
		packet_event_stack(s->packets, stack);
	packet_argument(&s->packets->block, PACKET_CORRELATION, w->correlation);
	return slice_end(s, span, track);
}

/* Drivers. */

int slices_driver(struct slices *s, const struct profile_event *e, const struct event_span *span)
{
	const struct profile_driver *d = &e->driver;
	const struct profile_thread *t = profile_thread(s->reader, d->thread);
	struct buf *b = &s->packets->block;
	uint32_t row = 0;
	uint64_t track = 0;
	int error = event_rows_find(s->rows, e, span, &row);

	error = error ?: track_of_row(s->tracks, row, &track);
	if (error)
		return error;
	packet_begin(s->packets, span->start_ns);
	packet_event_begin(
		s->packets, d->kind == DRIVER_MOMENT ? EVENT_INSTANT : EVENT_BEGINS, track);
	packet_event_name(s->packets, PACKET_DRIVER,
		slices_name(s, profile_string(s->reader, d->name, NULL)));
	if (d->job)
		packet_argument(b, PACKET_JOB, d->job);
	if (d->bytes)
		packet_argument(b, PACKET_BYTES, d->bytes);
	if (t)
		packet_text_argument(
			b, PACKET_COMM, value_id(s, profile_thread_name(s->reader, t, NULL)));
	if (d->kind != DRIVER_MOMENT)
		return slice_end(s, span, track);
	packet_event_end(s->packets);
	s->any = true;
	return packet_write(s->packets);
}

/* Markers. */

int slices_marker(struct slices *s, const struct profile_event *e, const struct event_span *span)
{
	const struct profile_marker *m = &e->marker;
	bool moment = m->kind == MARKER_MOMENT;
	uint32_t row = 0;
	uint64_t track = 0;
	int error = event_rows_find(s->rows, e, span, &row);

	error = error ?: track_of_row(s->tracks, row, &track);
	if (error)
		return error;
	packet_begin(s->packets, span->start_ns);
	packet_event_begin(s->packets, moment ? EVENT_INSTANT : EVENT_BEGINS, track);
	packet_event_name(s->packets, PACKET_MARKER,
		slices_name(s, profile_string(s->reader, m->name, NULL)));
	if (m->domain)
		packet_text_argument(&s->packets->block, PACKET_DOMAIN,
			value_id(s, profile_string(s->reader, m->domain, NULL)));
	if (!moment)
		return slice_end(s, span, track);
	packet_event_end(s->packets);
	s->any = true;
	return packet_write(s->packets);
}
