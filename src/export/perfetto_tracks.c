// SPDX-License-Identifier: MIT
#include "export/perfetto_tracks.h"

#include <string.h>

#include "base/error.h"
#include "base/protobuf.h"
#include "vendor/vendor.h"

#define SUBJECT "the tracks of the trace"

enum { PACKET_TRACK = 60 };
enum { TRACK_ID = 1, TRACK_NAME, TRACK_PROCESS, TRACK_THREAD, TRACK_PARENT, TRACK_COUNTER = 8 };
enum { PROCESS_PID = 1, PROCESS_NAME = 6 };
enum { THREAD_PID = 1, THREAD_TID, THREAD_NAME = 5 };
enum { COUNTER_UNIT_NAME = 6 };

/* Keys of `of`: a kind, and a number of 56 bits. */
enum { OF_PROCESS = 1, OF_THREAD, OF_DEVICE, OF_DRIVERS, OF_COUNTER, OF_FACTS };

#define KIND_SHIFT 56

void tracks_release(struct tracks *t)
{
	vec_release(&t->by_row);
	map_release(&t->of);
	buf_release(&t->text);
}

static const struct profile_reader *reader_of(const struct tracks *t)
{
	return t->rows->reader;
}

/* The id of a track: true when it has to be described. */
static int find(struct tracks *t, unsigned int kind, uint64_t number, uint64_t *ret, bool *ret_new)
{
	uint64_t key = (uint64_t)kind << KIND_SHIFT | number;
	const uint64_t *found = map_get(&t->of, key);

	*ret_new = !found;
	if (!found && map_put(&t->of, key, t->last + 1))
		return error_memory(SUBJECT);
	*ret = found ? *found : ++t->last;
	return 0;
}

static size_t begin(struct tracks *t, uint64_t id, uint64_t parent)
{
	struct buf *b = &t->packets->block;
	size_t mark;

	packet_open(t->packets);
	mark = protobuf_begin(b, PACKET_TRACK);
	protobuf_number(b, TRACK_ID, id);
	if (parent)
		protobuf_number(b, TRACK_PARENT, parent);
	return mark;
}

static int end(struct tracks *t, size_t mark)
{
	protobuf_end(&t->packets->block, mark);
	t->packets->block.failed |= t->text.failed;
	return packet_write(t->packets);
}

static int describe_named(struct tracks *t, uint64_t id, uint64_t parent, const char *name)
{
	size_t mark = begin(t, id, parent);

	protobuf_printable(&t->packets->block, TRACK_NAME, name, strlen(name));
	return end(t, mark);
}

static int track_of_process(struct tracks *t, const struct profile_process *p, uint64_t *ret)
{
	struct buf *b = &t->packets->block;
	size_t mark, process, size;
	const char *name;
	bool is_new;
	int error = find(t, OF_PROCESS, p->pid, ret, &is_new);

	if (error || !is_new)
		return error;
	mark = begin(t, *ret, 0);
	process = protobuf_begin(b, TRACK_PROCESS);
	protobuf_number(b, PROCESS_PID, p->pid);
	name = profile_string(reader_of(t), p->comm, &size);
	protobuf_printable(b, PROCESS_NAME, name, size);
	protobuf_end(b, process);
	return end(t, mark);
}

int track_of_thread(struct tracks *t, const struct profile_thread *thread, uint64_t *ret)
{
	const struct profile_process *p = profile_process(reader_of(t), thread->process);
	struct buf *b = &t->packets->block;
	uint64_t parent = 0;
	size_t mark, part, size;
	const char *name;
	bool is_new;
	int error = p ? track_of_process(t, p, &parent) : 0;

	error = error
			?: find(t, OF_THREAD, (uint64_t)(p ? p->pid : 0) << 28 ^ thread->tid, ret,
				   &is_new);
	if (error || !is_new)
		return error;
	mark = begin(t, *ret, 0);
	part = protobuf_begin(b, TRACK_THREAD);
	protobuf_number(b, THREAD_PID, p ? p->pid : 0);
	protobuf_number(b, THREAD_TID, thread->tid);
	name = profile_thread_name(reader_of(t), thread, &size);
	protobuf_printable(b, THREAD_NAME, name, size);
	protobuf_end(b, part);
	return end(t, mark);
}

static int track_of_device(struct tracks *t, uint32_t device, uint64_t *ret)
{
	const struct profile_device *d = profile_device(reader_of(t), device);
	bool is_new;
	int error = find(t, OF_DEVICE, device, ret, &is_new);

	if (error || !is_new)
		return error;
	buf_reset(&t->text);
	if (d)
		buf_printf(&t->text, "GPU %u %s",
			device_number(&t->rows->devices, reader_of(t), device),
			profile_string(reader_of(t), d->name, NULL));
	else
		buf_puts(&t->text, "GPU not known");
	return describe_named(t, *ret, 0, buf_text(&t->text));
}

static int track_of_drivers(struct tracks *t, uint64_t *ret)
{
	bool is_new;
	int error = find(t, OF_DRIVERS, 0, ret, &is_new);

	return error || !is_new ? error : describe_named(t, *ret, 0, "GPU drivers");
}

int track_of_facts(struct tracks *t, uint64_t *ret)
{
	bool is_new;
	int error = find(t, OF_FACTS, 0, ret, &is_new);

	return error || !is_new ? error : describe_named(t, *ret, 0, "recording by xpuprof");
}

int track_of_counter(struct tracks *t, uint32_t device, uint32_t counter, uint64_t *ret)
{
	const struct profile_counter *c = profile_counter(reader_of(t), counter);
	const char *name = c ? profile_string(reader_of(t), c->name, NULL) : "?";
	const char *unit = c ? profile_string(reader_of(t), c->unit, NULL) : "";
	int kind = counter_kind_of(name);
	struct buf *b = &t->packets->block;
	uint64_t parent = 0;
	size_t mark, part;
	bool is_new;
	int error = device ? track_of_device(t, device, &parent) : 0;

	error = error ?: find(t, OF_COUNTER, (uint64_t)device << 28 ^ counter, ret, &is_new);
	if (error || !is_new)
		return error;
	if (kind >= 0)
		name = counter_kind_at((size_t)kind)->words;
	mark = begin(t, *ret, parent);
	protobuf_printable(b, TRACK_NAME, name, strlen(name));
	part = protobuf_begin(b, TRACK_COUNTER);
	protobuf_printable(b, COUNTER_UNIT_NAME, unit, strlen(unit));
	protobuf_end(b, part);
	return end(t, mark);
}

static int parent_of(struct tracks *t, const struct event_row *row, uint64_t *ret)
{
	const struct profile_thread *thread = profile_thread(reader_of(t), row->thread);

	if (row->kind == ROW_WORK)
		return track_of_device(t, row->device, ret);
	if (row->kind == ROW_DRIVER)
		return track_of_drivers(t, ret);
	return thread ? track_of_thread(t, thread, ret) : 0;
}

static int describe_row(struct tracks *t, uint32_t id, uint64_t *ret)
{
	const struct event_row *row = &t->rows->rows.items[id];
	uint64_t parent = 0;
	int error = parent_of(t, row, &parent);

	if (error)
		return error;
	if (row->kind == ROW_CALLS && !row->lane && parent) {
		*ret = parent;
		return 0;
	}
	*ret = ++t->last;
	buf_reset(&t->text);
	event_row_name(t->rows, id, &t->text);
	return describe_named(t, *ret, parent, buf_text(&t->text));
}

int track_of_row(struct tracks *t, uint32_t row, uint64_t *ret)
{
	int error = 0;

	while (t->by_row.count <= row)
		if (vec_push(&t->by_row, 0))
			return error_memory(SUBJECT);
	if (!t->by_row.items[row])
		error = describe_row(t, row, &t->by_row.items[row]);
	*ret = t->by_row.items[row];
	return error;
}
