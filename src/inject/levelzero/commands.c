// SPDX-License-Identifier: MIT
/*
 * Commands and waits, before and after the loader's own call: the launch path. Each command is
 * described by its arguments, which are given by their addresses, and the rest is the same for all.
 */
#include "inject/levelzero/levelzero.h"

#define CALL_NUMBER(number, kind, name, ...) NUMBER_##name = (number),
enum { LEVELZERO_COMMANDS(CALL_NUMBER) LEVELZERO_WAITS(CALL_NUMBER) };
#undef CALL_NUMBER

uint32_t commands_next_id(void)
{
	static uint32_t latest;

	return WIRE_ID(LEVELZERO_API, __atomic_add_fetch(&latest, 1, __ATOMIC_RELAXED));
}

static struct open_call new_call(uint16_t call)
{
	return (struct open_call){.correlation = commands_next_id(),
		.call = call,
		.flags = library.marker || library.walk ? 0 : WIRE_FLAG_UNMARKED,
		.start_ns = now_ns()};
}

static void report_stack(const struct open_call *open, uint8_t kind, const void *frame)
{
	if (!(open->flags & WIRE_FLAG_UNMARKED))
		call_report_stack(open, kind, frame);
}

static uint32_t number_of(const struct open_call *open)
{
	return LEVELZERO_API << WIRE_API_SHIFT | open->call;
}

/* --- commands */

/* It is launched for the first time since the library came, with code from before. */
static void report_earlier_code(struct kernel *k, void **arguments)
{
	struct list *l = library.stalls ? objects_list(*(void **)arguments[0]) : NULL;

	k->is_earlier = false;
	if (!l)
		return;
	k->has_own_code = true;
	code_is_earlier(*(void **)arguments[1], l, k->name->text);
}

static void describe_kernel(struct work *w, void **arguments)
{
	struct kernel *k = objects_kernel(*(void **)arguments[1]);

	if (k && k->is_earlier)
		report_earlier_code(k, arguments);

	w->kind = WIRE_WORK_KERNEL;
	w->name = (k ? k->name : names_none())->text;
	if (k)
		memcpy(w->block, k->block, sizeof(w->block));
}

static void describe_CommandListAppendLaunchKernel(struct work *w, void **arguments)
{
	const struct levelzero_group_count *groups = *(void **)arguments[2];

	describe_kernel(w, arguments);
	if (groups)
		memcpy(w->grid, groups->count, sizeof(w->grid));
}

#define describe_CommandListAppendLaunchCooperativeKernel    describe_CommandListAppendLaunchKernel
#define describe_CommandListAppendLaunchKernelWithParameters describe_CommandListAppendLaunchKernel

/* Both numbers are arguments by themselves. */
static void describe_CommandListAppendLaunchKernelWithArguments(struct work *w, void **arguments)
{
	describe_kernel(w, arguments);
	memcpy(w->grid, arguments[2], sizeof(w->grid));
	memcpy(w->block, arguments[3], sizeof(w->block));
}

/* The numbers of groups are where the device finds them. */
static void describe_CommandListAppendLaunchKernelIndirect(struct work *w, void **arguments)
{
	describe_kernel(w, arguments);
}

/* A recorded list takes events of ours also while nothing is recorded, as it may be executed
 * later. */
static bool is_followed(const struct list *l)
{
	return l && (is_recording() || (!l->immediate && is_alive() && !ends_are_closed()));
}

static struct piece *take_piece(struct list *l)
{
	struct piece *p = l->context ? pieces_take(l->context) : NULL;

	if (p)
		return p;
	if (is_recording())
		count(WIRE_LOST_CALLS, 1);
	if (!l->immediate)
		l->left_out++;
	return NULL;
}

/* Of one of a recorded list. */
static uint64_t next_node(void)
{
	static uint64_t latest;

	return (uint64_t)LEVELZERO_API << 56 | __atomic_add_fetch(&latest, 1, __ATOMIC_RELAXED);
}

static void begin_call(struct piece *p, uint16_t call, uint8_t kind, const void *frame)
{
	p->open = new_call(call);
	if (library.overhead)
		bursts_call_begins();
	report_stack(&p->open, kind, frame);
}

static __thread struct timed_call append; /* of the one in which the thread is */

/* Those of recorded lists are timed when they run. */
static void begin_time(const struct list *l, uint8_t kind)
{
	append.begun_ns = 0;
	if (kind == WIRE_CALL_LAUNCH && l && l->immediate)
		timed_begin(&append);
}

/* The piece that the command becomes; NULL: it is not followed. */
static struct piece *begin_command(uint16_t call, uint8_t kind, void **arguments, void **event,
	void (*describe)(struct work *, void **), const void *frame)
{
	struct list *list = objects_list(*(void **)arguments[0]);
	struct piece *p;

	begin_time(list, kind);
	if (!is_followed(list)) {
		if (!list && is_recording() && !library.joined)
			count(WIRE_LOST_CALLS, 1);
		return NULL;
	}
	if (*event && list->immediate)
		ends_settle(*event);
	p = take_piece(list);
	if (!p)
		return NULL;
	p->place = list->place;
	p->list = NULL;
	p->node = list->immediate ? 0 : next_node();
	p->work = (struct work){0};
	describe(&p->work, arguments);
	p->event = *event ? *event : p->own;
	*event = p->event;
	if (list->immediate)
		ends_prepare(p);
	p->open.correlation = 0;
	if (is_recording())
		begin_call(p, call, kind, frame);
	return p;
}

/* The program may wait for its event, wherever that is. */
static void report_event(const struct place *place, const void *event, uint64_t time_ns)
{
	struct wire_event_record record = {.type = WIRE_EVENT_RECORD,
		.context = place->context,
		.stream = place->stream,
		.event = (uintptr_t)event,
		.time_ns = time_ns};

	if (!ring_put(&library.ring, &record))
		count(WIRE_LOST_EVENT_RECORDS, 1);
}

/* The stack of the call is that of what the list does later. */
static void report_node(const struct piece *p)
{
	const struct wire_node record = {.type = WIRE_NODE,
		.change = WIRE_NODE_CREATED,
		.correlation = p->open.correlation,
		.node = p->node};

	if (!ring_put(&library.ring, &record))
		count(WIRE_LOST_NODES, 1);
}

static void end_call(struct piece *p, uint8_t kind, int32_t result)
{
	struct wire_call record;

	if (p->node) {
		p->open.flags |= WIRE_FLAG_CAPTURED;
		if (!result)
			report_node(p);
	}
	record = call_record(&p->open, kind, number_of(&p->open), result);
	call_report(&record);
	if (library.overhead)
		bursts_call_ends();
	p->returned_ns = record.end_ns;
	if (!result && !p->node && library.syncs && p->event != p->own)
		report_event(&p->place, p->event, p->open.start_ns);
}

static void end_command(struct piece *p, uint8_t kind, void **arguments, int32_t result)
{
	struct list *l;

	if (!p)
		return;
	if (p->open.correlation)
		end_call(p, kind, result);
	l = p->node && !result ? objects_list(*(void **)arguments[0]) : NULL;
	if (l)
		recorded_add(l, p);
	else if (p->node || result)
		pieces_give_back(p);
	else
		ends_push(p);
}

#define COMMAND(number, kind, name, event)                                                         \
	static void before_##name(void **arguments, int32_t result, void *unused, void **instance) \
	{                                                                                          \
		*instance = begin_command(number, WIRE_CALL_##kind, arguments, arguments[event],   \
			describe_##name, __builtin_frame_address(0));                              \
	}                                                                                          \
	static void after_##name(void **arguments, int32_t result, void *unused, void **instance)  \
	{                                                                                          \
		end_command(*instance, WIRE_CALL_##kind, arguments, result);                       \
		timed_end(&append);                                                                \
	}
LEVELZERO_COMMANDS(COMMAND)
#undef COMMAND

/* --- what only signals an event of the program's */

static void begin_mark(void **arguments, const void *event)
{
	const struct list *l =
		event && is_recording() ? objects_list(*(void **)arguments[0]) : NULL;

	if (l && l->immediate)
		ends_settle(event);
}

static void add_mark(struct list *l, void *event)
{
	struct piece *p = pieces_take_blank();

	if (!p)
		return;
	*p = (struct piece){.event = event};
	recorded_add(l, p);
}

static void end_mark(void **arguments, void *event, int32_t result)
{
	struct list *l = event && !result && library.syncs && is_recording()
				 ? objects_list(*(void **)arguments[0])
				 : NULL;

	if (!l)
		return;
	if (l->immediate)
		report_event(&l->place, event, now_ns());
	else
		add_mark(l, event);
}

#define MARK(name, event)                                                                          \
	static void before_##name(void **arguments, int32_t result, void *unused, void **instance) \
	{                                                                                          \
		begin_mark(arguments, *(void **)arguments[event]);                                 \
	}                                                                                          \
	static void after_##name(void **arguments, int32_t result, void *unused, void **instance)  \
	{                                                                                          \
		end_mark(arguments, *(void **)arguments[event], result);                           \
	}
LEVELZERO_MARKS(MARK)
#undef MARK

/* --- waits: what is kept between begin and end is the thread's */

static void begin_wait(uint16_t call, const void *frame, void **instance)
{
	struct open_call open;

	tracer_enters();
	*instance = NULL;
	if (!is_recording())
		return;
	open = new_call(call);
	*call_open(open.correlation, call) = open;
	report_stack(&open, WIRE_CALL_SYNC, frame);
	*instance = (void *)(uintptr_t)open.correlation;
}

/* The list, the queue, or that of the fence. NULL: not known. */
static const struct place *place_of(uint16_t call, void *handle)
{
	const struct list *l =
		call == NUMBER_CommandListHostSynchronize ? objects_list(handle) : NULL;
	const struct queue *q =
		call == NUMBER_CommandQueueSynchronize ? objects_queue(handle) : NULL;

	if (call == NUMBER_FenceHostSynchronize)
		return signals_place(handle);
	return l ? &l->place : q ? &q->place : NULL;
}

/* What is waited for is not over in time: that is no failure. */
static void end_wait(uint16_t call, void **arguments, int32_t result, void **instance)
{
	uint32_t correlation = (uint32_t)(uintptr_t)*instance;
	const struct open_call *open = correlation ? call_close(correlation, call) : NULL;
	void *handle = *(void **)arguments[0];
	const struct place *place;
	struct wire_call record;

	tracer_leaves();
	if (!open)
		return;
	record = call_record(open, WIRE_CALL_SYNC, number_of(open),
		result == LEVELZERO_NOT_READY ? LEVELZERO_SUCCESS : result);
	place = library.syncs ? place_of(call, handle) : NULL;
	if (place && place->context) {
		record.waits_for = WIRE_SYNC_STREAM;
		record.context = place->context;
		record.stream = place->stream;
	} else if (library.syncs && call == NUMBER_EventHostSynchronize) {
		record.waits_for = WIRE_SYNC_EVENT;
		record.event = (uintptr_t)handle;
	}
	call_report(&record);
}

#define WAIT(number, kind, name)                                                                   \
	static void before_##name(void **arguments, int32_t result, void *unused, void **instance) \
	{                                                                                          \
		begin_wait(number, __builtin_frame_address(0), instance);                          \
	}                                                                                          \
	static void after_##name(void **arguments, int32_t result, void *unused, void **instance)  \
	{                                                                                          \
		end_wait(number, arguments, result, instance);                                     \
	}
LEVELZERO_WAITS(WAIT)
#undef WAIT

void commands_register(void)
{
#define REGISTER(number, kind, name, ...) tracer_register(#name, before_##name, after_##name);
	LEVELZERO_COMMANDS(REGISTER)
	LEVELZERO_WAITS(REGISTER)
#undef REGISTER
#define REGISTER(name, ...) tracer_register(#name, before_##name, after_##name);
	LEVELZERO_MARKS(REGISTER)
#undef REGISTER
}
