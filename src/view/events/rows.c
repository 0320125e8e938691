// SPDX-License-Identifier: MIT
#include "view/events/rows.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/intern.h"

#define SUBJECT "the rows of events"

/* What is more than this lies on the last lane. */
#define LANES_MAX 64

struct event_lanes {
	uint32_t rows[LANES_MAX];
	unsigned int count;
};

int event_rows_init(struct event_rows *r, const struct profile_reader *reader)
{
	*r = (struct event_rows){.reader = reader};
	if (interner_new(&r->groups))
		return error_memory(SUBJECT);
	return device_numbers_init(&r->devices, reader);
}

void event_rows_release(struct event_rows *r)
{
	vec_foreach (lanes, &r->lanes)
		free(*lanes);
	vec_release(&r->lanes);
	vec_release(&r->rows);
	interner_free(r->groups);
	*r = (struct event_rows){0};
}

static int describe(
	const struct event_rows *r, const struct profile_event *e, struct event_row *ret)
{
	static const struct profile_op unknown = {.kind = OP_KERNEL};
	const struct profile_op *op;

	switch (e->kind) {
	case EVENT_SAMPLE:
		*ret = (struct event_row){.kind = ROW_SAMPLES, .thread = e->sample.thread};
		return 0;
	case EVENT_CALL:
		*ret = (struct event_row){.kind = ROW_CALLS, .thread = e->call.thread};
		return 0;
	case EVENT_WAIT:
		*ret = (struct event_row){.kind = ROW_WAITS, .thread = e->wait.thread};
		return 0;
	case EVENT_SYNC:
		*ret = (struct event_row){.kind = ROW_GPU_WAITS, .thread = e->sync.thread};
		return 0;
	case EVENT_MARKER:
		*ret = (struct event_row){.kind = ROW_MARKERS, .thread = e->marker.thread};
		return 0;
	case EVENT_WORK:
		op = profile_op(r->reader, e->work.op) ?: &unknown;
		*ret = (struct event_row){.kind = ROW_WORK,
			.process = op->process,
			.device = op->device,
			.context = op->context,
			.stream = op->stream};
		return 0;
	case EVENT_DRIVER:
		*ret = (struct event_row){.kind = ROW_DRIVER,
			.process = e->driver.source,
			.device = e->driver.ring,
			.context = e->driver.kind};
		return 0;
	case EVENT_COUNT:
	case EVENT_PENDING:
	case EVENT_STALL:
	case EVENT_LIFE:
	case EVENT_FOUND:
		break;
	}
	return error_set(-EINVAL, "an event without a row");
}

static int find_lanes(struct event_rows *r, const struct event_row *row, struct event_lanes **ret)
{
	const uint32_t key[] = {
		row->kind, row->thread, row->process, row->device, row->context, row->stream};
	struct event_lanes *lanes;
	uint32_t id;
	int added;

	if (interner_add(r->groups, key, sizeof(key), &id, &added))
		return error_memory(SUBJECT);
	if (!added) {
		*ret = r->lanes.items[id - 1];
		return 0;
	}
	lanes = calloc(1, sizeof(*lanes));
	if (!lanes || vec_push(&r->lanes, lanes)) {
		free(lanes);
		return error_memory(SUBJECT);
	}
	*ret = lanes;
	return 0;
}

int event_rows_find(struct event_rows *r, const struct profile_event *e,
	const struct event_span *span, uint32_t *ret_row)
{
	struct event_lanes *lanes = NULL;
	struct event_row row;
	unsigned int i = 0;
	int error = describe(r, e, &row);

	error = error ?: find_lanes(r, &row, &lanes);
	if (error)
		return error;
	while (i < lanes->count && r->rows.items[lanes->rows[i]].end_ns > span->start_ns)
		i++;
	if (i == LANES_MAX)
		i--;
	if (i == lanes->count) {
		row.lane = i;
		if (vec_push(&r->rows, row))
			return error_memory(SUBJECT);
		lanes->rows[lanes->count++] = (uint32_t)r->rows.count - 1;
	}
	r->rows.items[lanes->rows[i]].end_ns = span->start_ns + span->duration_ns;
	*ret_row = lanes->rows[i];
	return 0;
}

const struct profile_process *event_row_process(
	const struct event_rows *r, const struct event_row *row)
{
	const struct profile_thread *t = profile_thread(r->reader, row->thread);

	return t ? profile_process(r->reader, t->process) : NULL;
}

static void name_thread(const struct event_rows *r, const struct event_row *row, struct buf *b)
{
	static const char *const what[ROW_KINDS] = {
		"on CPU", "GPU calls", "not running", "waiting for the GPU", "markers"};
	const struct profile_thread *t = profile_thread(r->reader, row->thread);

	if (t)
		buf_printf(b, "%s %u %s", profile_thread_name(r->reader, t, NULL), t->tid,
			what[row->kind]);
	else
		buf_printf(b, "thread not known %s", what[row->kind]);
}

static void name_stream(const struct event_rows *r, const struct event_row *row, struct buf *b)
{
	const struct profile_process *p = profile_process(r->reader, row->process);

	if (profile_device(r->reader, row->device))
		buf_printf(b, "GPU %u", device_number(&r->devices, r->reader, row->device));
	else
		buf_puts(b, "GPU not known");
	buf_printf(b, " stream %u (pid %u, context %u)", row->stream, p ? p->pid : 0, row->context);
}

static void name_ring(const struct event_rows *r, const struct event_row *row, struct buf *b)
{
	buf_puts(b, profile_string(r->reader, row->process, NULL));
	if (row->device)
		buf_printf(b, " %s", profile_string(r->reader, row->device, NULL));
	if (row->context != DRIVER_MOMENT)
		buf_printf(b, " %s", profile_driver_kind_name(row->context));
}

void event_row_name(const struct event_rows *r, uint32_t id, struct buf *b)
{
	const struct event_row *row = &r->rows.items[id];

	if (row->kind == ROW_WORK)
		name_stream(r, row, b);
	else if (row->kind == ROW_DRIVER)
		name_ring(r, row, b);
	else
		name_thread(r, row, b);
	if (row->lane)
		buf_printf(b, " overlap %u", row->lane);
}
