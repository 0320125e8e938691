// SPDX-License-Identifier: MIT
#include "view/timeline/rows.h"

#include "base/error.h"
#include "base/hash.h"

void timeline_rows_release(struct timeline_rows *r)
{
	vec_release(&r->items);
	map_release(&r->of_thread);
	map_release(&r->of_op);
	map_release(&r->of_stream);
	map_release(&r->of_counter);
	map_release(&r->of_ring);
	*r = (struct timeline_rows){0};
}

static int short_memory(void)
{
	return error_memory("the time axis");
}

static int add(struct timeline_rows *rows, const struct timeline_row *row, uint32_t *ret)
{
	*ret = (uint32_t)rows->items.count;
	return vec_push(&rows->items, *row) ? short_memory() : 1;
}

/* The row that a map has for the key; else a new one. */
static int by_key(struct timeline_rows *rows, struct map *of, uint64_t key,
	const struct timeline_row *row, uint32_t *ret)
{
	const uint64_t *known = map_get(of, key);

	if (known) {
		*ret = (uint32_t)*known;
		return 1;
	}
	if (map_put(of, key, rows->items.count))
		return short_memory();
	return add(rows, row, ret);
}

static int of_thread(struct timeline_rows *rows, const struct profile_reader *r, uint32_t thread,
	enum timeline_kind kind, uint32_t *ret)
{
	const struct profile_thread *t = profile_thread(r, thread);
	const struct timeline_row row = {
		.kind = kind, .thread = thread, .process = t ? t->process : 0};

	return by_key(rows, &rows->of_thread, (uint64_t)thread << 8 | kind, &row, ret);
}

static bool is_same_stream(const struct timeline_row *a, const struct timeline_row *b)
{
	return a->kind == b->kind && a->process == b->process && a->device == b->device &&
	       a->context == b->context && a->stream == b->stream;
}

/* Streams whose keys are equal by chance have the keys that follow. */
static int of_stream(struct timeline_rows *rows, const struct timeline_row *row, uint32_t *ret)
{
	uint64_t key = hash_combine((uint64_t)row->process << 32 | row->device,
		(uint64_t)row->context << 32 | row->stream);
	const uint64_t *known;

	while ((known = map_get(&rows->of_stream, key)) &&
		!is_same_stream(&rows->items.items[*known], row))
		key++;
	return by_key(rows, &rows->of_stream, key, row, ret);
}

/* There are far fewer operations than work. */
static int of_op(
	struct timeline_rows *rows, const struct profile_reader *r, uint32_t id, uint32_t *ret)
{
	const uint64_t *known = map_get(&rows->of_op, id);
	const struct profile_op *op = profile_op(r, id);
	struct timeline_row row = {.kind = TIMELINE_WORK};
	int found;

	if (known) {
		*ret = (uint32_t)*known;
		return 1;
	}
	if (op) {
		row.process = op->process;
		row.device = op->device;
		row.context = op->context;
		row.stream = op->stream;
	}
	found = of_stream(rows, &row, ret);
	return found > 0 && map_put(&rows->of_op, id, *ret) ? short_memory() : found;
}

static int of_count(struct timeline_rows *rows, const struct profile_count *c, uint32_t *ret)
{
	const struct timeline_row row = {
		.kind = TIMELINE_COUNTER, .device = c->device, .counter = c->counter};

	return by_key(rows, &rows->of_counter, (uint64_t)c->device << 32 | c->counter, &row, ret);
}

static int of_driver(struct timeline_rows *rows, const struct profile_driver *d, uint32_t *ret)
{
	const struct timeline_row row = {
		.kind = TIMELINE_DRIVER, .source = d->source, .ring = d->ring};

	return by_key(rows, &rows->of_ring, (uint64_t)d->source << 32 | d->ring, &row, ret);
}

int timeline_rows_of(struct timeline_rows *rows, const struct profile_reader *r,
	const struct profile_event *e, uint32_t *ret)
{
	switch (e->kind) {
	case EVENT_SAMPLE: /* what is of no moment is on no axis */
		return e->sample.kind == SAMPLE_SEEN
			       ? of_thread(rows, r, e->sample.thread, TIMELINE_RUN, ret)
			       : 0;
	case EVENT_WAIT:
		return of_thread(rows, r, e->wait.thread, TIMELINE_WAITS, ret);
	case EVENT_CALL:
		return of_thread(rows, r, e->call.thread, TIMELINE_CALLS, ret);
	case EVENT_WORK:
		return of_op(rows, r, e->work.op, ret);
	case EVENT_COUNT:
		return of_count(rows, &e->count, ret);
	case EVENT_DRIVER:
		return of_driver(rows, &e->driver, ret);
	case EVENT_MARKER:
		return of_thread(rows, r, e->marker.thread, TIMELINE_MARKERS, ret);
	case EVENT_PENDING:
	case EVENT_STALL:
	case EVENT_LIFE:
	case EVENT_FOUND:
	case EVENT_SYNC: /* the call that waits is there already */
		break;
	}
	return 0;
}

const char *timeline_kind_name(enum timeline_kind kind)
{
	static const char *const names[TIMELINE_KINDS] = {
		[TIMELINE_RUN] = "run",
		[TIMELINE_WAITS] = "waits",
		[TIMELINE_CALLS] = "calls",
		[TIMELINE_WORK] = "work",
		[TIMELINE_COUNTER] = "counter",
		[TIMELINE_DRIVER] = "driver",
		[TIMELINE_MARKERS] = "marker",
	};

	return kind < TIMELINE_KINDS ? names[kind] : "";
}

void timeline_row_name(
	const struct profile_reader *r, const struct timeline_row *row, struct buf *b)
{
	const struct profile_counter *counter = profile_counter(r, row->counter);

	switch (row->kind) {
	case TIMELINE_WORK:
		buf_printf(b, "stream %u", row->stream);
		break;
	case TIMELINE_COUNTER:
		buf_puts(b, counter ? profile_string(r, counter->name, NULL) : "counter");
		break;
	case TIMELINE_DRIVER:
		buf_puts(b, profile_string(r, row->source, NULL));
		buf_putc(b, ' ');
		buf_puts(b, profile_string(r, row->ring, NULL));
		break;
	default:
		buf_puts(b, timeline_kind_name(row->kind));
	}
}
