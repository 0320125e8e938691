// SPDX-License-Identifier: MIT
#include "export/perfetto_packets.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/protobuf.h"
#include "view/names/label.h"

#define SUBJECT "the trace for Perfetto"

/* Packets are compressed together: more of them compress little better, and take longer to show. */
#define BLOCK_BYTES ((size_t)512 << 10)

#define SEQUENCE 1
#define MAPPING	 1

enum { TRACE_PACKET = 1, SIZED = 2 };
enum {
	PACKET_CLOCKS = 6,
	PACKET_TIME = 8,
	PACKET_SEQUENCE = 10,
	PACKET_EVENT,
	PACKET_INTERNED,
	PACKET_FLAGS,
	PACKET_COMPRESSED = 50,
	PACKET_DEFAULTS = 59
};
enum { FLAG_CLEARED = 1 };
enum { CLOCKS_CLOCK = 1, CLOCKS_PRIMARY };
enum { CLOCK_ID = 1, CLOCK_TIME };
enum { CLOCK_IS_REALTIME = 1, CLOCK_IS_MONOTONIC = 3 };
enum { DEFAULTS_SAMPLES = 12, DEFAULTS_CLOCK = 58 };
enum { SAMPLES_TIMEBASE = 1, TIMEBASE_NAME = 10 };
enum {
	INTERNED_CATEGORY = 1,
	INTERNED_NAME,
	INTERNED_ARGUMENT,
	INTERNED_FUNCTION = 5,
	INTERNED_FRAME,
	INTERNED_STACK,
	INTERNED_MAPPING = 19,
	INTERNED_VALUE = 29
};
enum { ENTRY_ID = 1, ENTRY_TEXT };
enum { FRAME_FUNCTION = 2, FRAME_MAPPING };
enum { STACK_FRAME = 2 };
enum {
	EVENT_CATEGORY = 3,
	EVENT_ARGUMENT,
	EVENT_TYPE = 9,
	EVENT_NAME,
	EVENT_TRACK,
	EVENT_FLOW = 47,
	EVENT_STACK = 56
};
enum {
	ARGUMENT_NAME_ID = 1,
	ARGUMENT_NUMBER = 3,
	ARGUMENT_TEXT = 6,
	ARGUMENT_NAME = 10,
	ARGUMENT_VALUE = 17
};

static const char *const categories[PACKET_CATEGORIES] = {
	[PACKET_CALL] = "GPU_Call",
	[PACKET_KERNEL] = "GPU_Kernel",
	[PACKET_COPY] = "MemCopy",
	[PACKET_SET] = "MemSet",
	[PACKET_WAIT] = "Wait",
	[PACKET_DRIVER] = "GPU_Driver",
	[PACKET_MARKER] = "Marker",
	[PACKET_FACTS] = "Recording",
};

static const char *const arguments[PACKET_ARGUMENTS] = {
	[PACKET_CORRELATION] = "correlationId",
	[PACKET_BYTES] = "bytes",
	[PACKET_GRAPH_NODE] = "graphNode",
	[PACKET_GRID] = "grid",
	[PACKET_BLOCK] = "block",
	[PACKET_RESULT] = "result",
	[PACKET_WEIGHT] = "weight",
	[PACKET_WAKER] = "waker",
	[PACKET_OTHERS] = "others",
	[PACKET_OTHERS_NS] = "othersTime",
	[PACKET_JOB] = "job",
	[PACKET_COMM] = "comm",
	[PACKET_DOMAIN] = "domain",
};

int packets_init(struct packets *p, struct output *o, const struct tree *t)
{
	*p = (struct packets){.output = o, .tree = t};
	if (interner_new(&p->names) || interner_new(&p->values))
		return error_memory(SUBJECT);
	return compressor_new(&p->compressor);
}

void packets_release(struct packets *p)
{
	interner_free(p->names);
	interner_free(p->values);
	vec_release(&p->frames);
	vec_release(&p->stacks);
	buf_release(&p->interned);
	buf_release(&p->path);
	buf_release(&p->block);
	compressor_free(p->compressor);
	buf_release(&p->compressed_head);
}

void packet_open(struct packets *p)
{
	p->packet = protobuf_begin(&p->block, TRACE_PACKET);
	protobuf_number(&p->block, PACKET_SEQUENCE, SEQUENCE);
}

void packet_begin(struct packets *p, uint64_t time_ns)
{
	packet_open(p);
	protobuf_number(&p->block, PACKET_TIME, time_ns);
}

/* A packet whose contents are the packets of the block that was given last, compressed. */
static int write_given(struct packets *p)
{
	const void *data;
	size_t size;
	int error = compressor_take(p->compressor, &data, &size);

	if (error || !size)
		return error;
	buf_reset(&p->compressed_head);
	protobuf_packed(&p->compressed_head, PACKET_COMPRESSED << 3 | SIZED);
	protobuf_packed(&p->compressed_head, size);
	buf_reset(&p->path);
	protobuf_packed(&p->path, TRACE_PACKET << 3 | SIZED);
	protobuf_packed(&p->path, p->compressed_head.size + size);
	if (p->path.failed || p->compressed_head.failed)
		return error_memory(SUBJECT);
	output_write(p->output, p->path.data, p->path.size);
	output_write(p->output, p->compressed_head.data, p->compressed_head.size);
	output_write(p->output, data, size);
	return output_error(p->output);
}

static int give_block(struct packets *p)
{
	int error = write_given(p);

	if (!error)
		compressor_give(p->compressor, &p->block);
	return error;
}

int packets_flush(struct packets *p)
{
	int error = p->block.size ? give_block(p) : 0;

	return error ?: write_given(p);
}

int packet_write(struct packets *p)
{
	if (p->interned.size)
		protobuf_bytes(&p->block, PACKET_INTERNED, p->interned.data, p->interned.size);
	protobuf_end(&p->block, p->packet);
	if (p->block.failed || p->interned.failed)
		return error_memory(SUBJECT);
	buf_reset(&p->interned);
	return p->block.size < BLOCK_BYTES ? 0 : give_block(p);
}

static void put_entry(struct buf *b, uint32_t field, uint32_t id, const char *text, size_t size)
{
	size_t mark = protobuf_begin(b, field);

	protobuf_number(b, ENTRY_ID, id);
	protobuf_bytes(b, ENTRY_TEXT, text, size);
	protobuf_end(b, mark);
}

static uint32_t add(
	struct packets *p, struct interner *in, uint32_t field, const char *text, size_t size)
{
	uint32_t id = 0;
	int added = 0;

	if (interner_add(in, text, size, &id, &added))
		p->interned.failed = true;
	else if (added)
		put_entry(&p->interned, field, id, text, size);
	return id;
}

uint32_t packet_name(struct packets *p, const char *name, size_t size)
{
	return add(p, p->names, INTERNED_NAME, name, size);
}

uint32_t packet_value(struct packets *p, const char *text, size_t size)
{
	return add(p, p->values, INTERNED_VALUE, text, size);
}

/* Whether it is the first time. */
static bool is_new(struct packets *p, uint8_t **sent, size_t *capacity, size_t *count, uint32_t id)
{
	while (*count <= id) {
		if (vec_grow((void **)sent, capacity, *count, 1, 1)) {
			p->interned.failed = true;
			return false;
		}
		(*sent)[(*count)++] = 0;
	}
	if ((*sent)[id])
		return false;
	(*sent)[id] = 1;
	return true;
}

static void need_frame(struct packets *p, uint32_t id)
{
	const struct tree_frame *f = &tree_frames(p->tree)[id];
	size_t mark, text;

	if (!is_new(p, &p->frames.items, &p->frames.capacity, &p->frames.count, id))
		return;
	buf_reset(&p->path);
	tree_label(f, &p->path);
	mark = protobuf_begin(&p->interned, INTERNED_FUNCTION);
	protobuf_number(&p->interned, ENTRY_ID, id + 1);
	text = p->path.size;
	protobuf_printable(&p->interned, ENTRY_TEXT, buf_text(&p->path), text);
	protobuf_end(&p->interned, mark);
	mark = protobuf_begin(&p->interned, INTERNED_FRAME);
	protobuf_number(&p->interned, ENTRY_ID, id + 1);
	protobuf_number(&p->interned, FRAME_FUNCTION, id + 1);
	protobuf_number(&p->interned, FRAME_MAPPING, MAPPING);
	protobuf_end(&p->interned, mark);
	p->interned.failed |= p->path.failed;
}

static void put_path(struct packets *p, uint32_t node)
{
	const struct tree_node *nodes = tree_nodes(p->tree);
	size_t depth = 0;
	uint32_t *frames;

	for (uint32_t n = node; n != TREE_ROOT_NODE; n = nodes[n].parent)
		depth++;
	frames = malloc((depth + 1) * sizeof(*frames));
	if (!frames) {
		p->interned.failed = true;
		return;
	}
	for (size_t i = depth; i; node = nodes[node].parent)
		frames[--i] = nodes[node].frame;
	for (size_t i = 0; i < depth; i++)
		protobuf_number(&p->interned, STACK_FRAME, (uint64_t)frames[i] + 1);
	free(frames);
}

void packet_need_stack(struct packets *p, uint32_t node)
{
	const struct tree_node *nodes = tree_nodes(p->tree);
	size_t mark;

	if (!is_new(p, &p->stacks.items, &p->stacks.capacity, &p->stacks.count, node))
		return;
	for (uint32_t n = node; n != TREE_ROOT_NODE; n = nodes[n].parent)
		need_frame(p, nodes[n].frame);
	mark = protobuf_begin(&p->interned, INTERNED_STACK);
	protobuf_number(&p->interned, ENTRY_ID, node);
	put_path(p, node);
	protobuf_end(&p->interned, mark);
}

void packet_event_begin(struct packets *p, unsigned int type, uint64_t track)
{
	p->event = protobuf_begin(&p->block, PACKET_EVENT);
	protobuf_number(&p->block, EVENT_TYPE, type);
	protobuf_number(&p->block, EVENT_TRACK, track);
}

void packet_event_end(struct packets *p)
{
	protobuf_end(&p->block, p->event);
}

void packet_event_name(struct packets *p, enum packet_category category, uint32_t name)
{
	protobuf_number(&p->block, EVENT_CATEGORY, category);
	protobuf_number(&p->block, EVENT_NAME, name);
}

void packet_event_stack(struct packets *p, uint32_t node)
{
	if (node == TREE_ROOT_NODE)
		return;
	packet_need_stack(p, node);
	protobuf_number(&p->block, EVENT_STACK, node);
}

void packet_event_flow(struct packets *p, uint64_t id)
{
	protobuf_fixed(&p->block, EVENT_FLOW, id);
}

static void put_argument(
	struct buf *b, enum packet_argument argument, uint32_t field, uint64_t value)
{
	size_t mark = protobuf_begin(b, EVENT_ARGUMENT);

	protobuf_number(b, ARGUMENT_NAME_ID, argument);
	protobuf_number(b, field, value);
	protobuf_end(b, mark);
}

void packet_argument(struct buf *b, enum packet_argument argument, uint64_t value)
{
	put_argument(b, argument, ARGUMENT_NUMBER, value);
}

void packet_text_argument(struct buf *b, enum packet_argument argument, uint32_t value)
{
	put_argument(b, argument, ARGUMENT_VALUE, value);
}

void packet_fact(struct packets *p, const char *name, const char *value)
{
	size_t mark = protobuf_begin(&p->block, EVENT_ARGUMENT);

	protobuf_printable(&p->block, ARGUMENT_NAME, name, strlen(name));
	protobuf_printable(&p->block, ARGUMENT_TEXT, value, strlen(value));
	protobuf_end(&p->block, mark);
}

static void put_clock(struct buf *b, uint32_t id, uint64_t time_ns)
{
	size_t mark = protobuf_begin(b, CLOCKS_CLOCK);

	protobuf_number(b, CLOCK_ID, id);
	protobuf_number(b, CLOCK_TIME, time_ns);
	protobuf_end(b, mark);
}

static void put_defaults(struct buf *b)
{
	size_t mark = protobuf_begin(b, PACKET_DEFAULTS), samples, timebase;

	protobuf_number(b, DEFAULTS_CLOCK, CLOCK_IS_MONOTONIC);
	samples = protobuf_begin(b, DEFAULTS_SAMPLES);
	timebase = protobuf_begin(b, SAMPLES_TIMEBASE);
	protobuf_bytes(b, TIMEBASE_NAME, "CPU time", strlen("CPU time"));
	protobuf_end(b, timebase);
	protobuf_end(b, samples);
	protobuf_end(b, mark);
}

int packets_begin(struct packets *p, uint64_t start_ns, uint64_t realtime_ns)
{
	size_t mark;
	int error;

	packet_open(p);
	mark = protobuf_begin(&p->block, PACKET_CLOCKS);
	put_clock(&p->block, CLOCK_IS_MONOTONIC, start_ns);
	if (realtime_ns)
		put_clock(&p->block, CLOCK_IS_REALTIME, start_ns + realtime_ns);
	protobuf_number(&p->block, CLOCKS_PRIMARY, CLOCK_IS_MONOTONIC);
	protobuf_end(&p->block, mark);
	error = packet_write(p);
	if (error)
		return error;
	packet_open(p);
	protobuf_number(&p->block, PACKET_FLAGS, FLAG_CLEARED);
	put_defaults(&p->block);
	for (uint32_t i = 1; i < PACKET_CATEGORIES; i++)
		put_entry(&p->interned, INTERNED_CATEGORY, i, categories[i], strlen(categories[i]));
	for (uint32_t i = 1; i < PACKET_ARGUMENTS; i++)
		put_entry(&p->interned, INTERNED_ARGUMENT, i, arguments[i], strlen(arguments[i]));
	mark = protobuf_begin(&p->interned, INTERNED_MAPPING);
	protobuf_number(&p->interned, ENTRY_ID, MAPPING);
	protobuf_end(&p->interned, mark);
	return packet_write(p);
}
