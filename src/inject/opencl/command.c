// SPDX-License-Identifier: MIT
/*
 * A call is reported with its stack as it begins, and with its result when it returns; its work,
 * when that has ended, by our thread. Ids are ours, counted for the process.
 */
#include "inject/opencl/command.h"

#include "inject/draws.h"

static uint32_t next_id(void)
{
	static uint32_t latest;

	return WIRE_ID(OPENCL_API, __atomic_add_fetch(&latest, 1, __ATOMIC_RELAXED));
}

static void open_call(struct open_call *open, enum opencl_call call)
{
	*open = (struct open_call){.correlation = next_id(),
		.call = (uint16_t)call,
		.flags = library.marker || library.walk ? 0 : WIRE_FLAG_UNMARKED,
		.start_ns = now_ns()};
}

static void report_stack(const struct open_call *open, uint8_t kind, const void *frame)
{
	if (!(open->flags & WIRE_FLAG_UNMARKED))
		call_report_stack(open, kind, frame);
}

/* With an event if its queue has times, and there is room for it. */
static struct piece *take_piece(const struct queue *queue, bool *ret_timed)
{
	struct piece *p = queue->times ? events_take(true) : NULL;

	*ret_timed = p;
	return p ?: events_take(false);
}

void command_begin(struct command *c, enum opencl_call call, uint8_t kind, void *queue,
	void **event, const void *frame)
{
	bool timed = false;

	c->event = c->theirs = event;
	c->is_followed = is_recording();
	c->timed.begun_ns = 0;
	if (kind == WIRE_CALL_LAUNCH)
		timed_begin(&c->timed);
	if (!c->is_followed)
		return;
	c->kind = kind;
	c->blocking = c->seeks_queue = false;
	c->own = NULL;
	c->work = (struct work){0};
	c->of_a_sort = NULL;
	c->queue = queues_find(queue);
	c->piece = c->queue ? take_piece(c->queue, &timed) : NULL;
	if (timed && !event)
		c->event = &c->own;
	else if (!timed)
		c->theirs = NULL;
	open_call(&c->open, call);
	if (library.overhead)
		bursts_call_begins();
	report_stack(&c->open, kind, frame);
}

/* Commands that are no kernels are of one sort with all others of their call. */
void command_draw(struct command *c)
{
	static uint32_t of_calls[OPENCL_CALL_NUMBERS];
	uint32_t stands_for;

	if (!library.times_one_in || !c->piece || (c->event != &c->own && !c->theirs))
		return;
	stands_for = draws_next(
		c->of_a_sort ? c->of_a_sort : &of_calls[c->open.call], library.times_one_in);
	c->piece->stands_for = stands_for;
	c->piece->not_timed = !stands_for;
	if (stands_for)
		return;
	c->event = c->theirs;
	c->theirs = NULL;
}

/* With an event of ours, if the program has none: whether it has times is not known so far. */
void command_find_queue(struct command *c)
{
	c->seeks_queue = !c->queue;
	if (c->queue)
		return;
	c->piece = events_take(true);
	if (c->piece && !c->event)
		c->event = &c->own;
	c->theirs = c->event == &c->own ? NULL : c->event;
}

static void take_queue_of_event(struct command *c)
{
	void *queue = NULL;

	if (c->event && *c->event &&
		!opencl.clGetEventInfo(
			*c->event, OPENCL_EVENT_COMMAND_QUEUE, sizeof(queue), &queue, NULL))
		c->queue = queues_find(queue);
}

static void put_target(struct wire_call *record, const struct queue *queue, uint8_t waits_for)
{
	if (!library.syncs || !queue)
		return;
	record->waits_for = waits_for;
	record->context = queue->context;
	record->stream = queue->number;
}

/* The program may wait for its event, wherever that is. */
static void report_event(const struct command *c)
{
	struct wire_event_record record = {.type = WIRE_EVENT_RECORD,
		.context = c->queue->context,
		.stream = c->queue->number,
		.event = (uintptr_t)*c->event,
		.time_ns = c->open.start_ns};

	if (!ring_put(&library.ring, &record))
		count(WIRE_LOST_EVENT_RECORDS, 1);
}

/* Its event is ours to hold until it has ended. */
static void await_end(struct command *c, uint64_t returned_ns)
{
	struct piece *p = c->piece;

	if (c->theirs && *c->theirs && !opencl.clRetainEvent(*c->theirs))
		p->event = *c->theirs;
	else
		p->event = c->own;
	p->correlation = c->open.correlation;
	p->queue = c->queue;
	p->work = c->work;
	p->entered_ns = c->open.start_ns;
	p->returned_ns = returned_ns;
	memset(p->times, 0, sizeof(p->times));
	p->learned = p->waits = false;
	events_push(p);
	events_help(c->queue);
}

/* The call failed, or nothing is known of its queue, or there is no room for more. */
static void drop_piece(struct command *c, int32_t result)
{
	if (c->own && !result)
		opencl.clReleaseEvent(c->own);
	if (c->piece)
		events_give_back(c->piece);
	if (!result)
		count(WIRE_UNTIMED, 1);
}

static void report_command(struct command *c, int32_t result)
{
	struct wire_call record;

	if (c->seeks_queue && !result)
		take_queue_of_event(c);
	record =
		call_record(&c->open, c->kind, OPENCL_API << WIRE_API_SHIFT | c->open.call, result);
	if (c->blocking)
		put_target(&record, c->queue, WIRE_SYNC_STREAM);
	call_report(&record);
	if (library.overhead)
		bursts_call_ends();
	if (!result && c->queue && library.syncs && c->event && c->event != &c->own)
		report_event(c);
	if (c->piece && !result && c->queue)
		await_end(c, record.end_ns);
	else
		drop_piece(c, result);
	if (c->blocking && !result)
		events_waited(c->queue, NULL);
}

int32_t command_end(struct command *c, int32_t result)
{
	if (c->is_followed)
		report_command(c, result);
	timed_end(&c->timed);
	return result;
}

/* As enum profile_copy_kind and enum profile_memory_kind have them. */
enum { HOST_TO_DEVICE = 1, DEVICE_TO_HOST = 2, DEVICE_TO_DEVICE = 8, DEVICE_MEMORY = 3 };

void command_is_copy(struct command *c, enum copy_direction direction, size_t bytes)
{
	static const struct {
		uint8_t kind, source, target;
	} kinds[] = {
		[COPY_TO_DEVICE] = {HOST_TO_DEVICE, 0, DEVICE_MEMORY},
		[COPY_TO_HOST] = {DEVICE_TO_HOST, DEVICE_MEMORY, 0},
		[COPY_ON_DEVICE] = {DEVICE_TO_DEVICE, DEVICE_MEMORY, DEVICE_MEMORY},
		[COPY_ANYWHERE] = {0, 0, 0},
	};

	c->work.kind = WIRE_WORK_COPY;
	c->work.copy_kind = kinds[direction].kind;
	c->work.source_memory = kinds[direction].source;
	c->work.target_memory = kinds[direction].target;
	c->work.bytes = bytes;
}

void command_is_set(struct command *c, size_t bytes)
{
	c->work.kind = WIRE_WORK_SET;
	c->work.bytes = bytes;
}

bool wait_begin(struct open_call *open, enum opencl_call call, const void *frame)
{
	if (!is_recording())
		return false;
	open_call(open, call);
	report_stack(open, WIRE_CALL_SYNC, frame);
	return true;
}

void wait_end(const struct open_call *open, int32_t result, enum wire_sync_kind waits_for,
	struct queue *queue, const void *event)
{
	struct wire_call record = call_record(
		open, WIRE_CALL_SYNC, OPENCL_API << WIRE_API_SHIFT | open->call, result);

	put_target(&record, queue, waits_for);
	if (record.waits_for == WIRE_SYNC_EVENT)
		record.event = (uintptr_t)event;
	call_report(&record);
	events_waited(queue, event);
}
