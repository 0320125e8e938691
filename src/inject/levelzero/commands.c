// SPDX-License-Identifier: MIT
/*
 * Commands and waits, before and after the loader's own call: the launch path. Each command is
 * described by its arguments, which are given by their addresses, and the rest is the same for all.
 */
#include "inject/bursts.h"
#include "inject/levelzero/levelzero.h"

#define CALL_NUMBER(number, kind, name, ...) NUMBER_##name = (number),
enum { LEVELZERO_COMMANDS(CALL_NUMBER) LEVELZERO_WAITS(CALL_NUMBER) };
#undef CALL_NUMBER

static struct open_call new_call(uint16_t call)
{
	static uint32_t latest;
	uint32_t n = __atomic_add_fetch(&latest, 1, __ATOMIC_RELAXED);

	return (struct open_call){.correlation = WIRE_ID(LEVELZERO_API, n),
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

static void describe_kernel(struct work *w, void **arguments)
{
	const struct kernel *k = objects_kernel(*(void **)arguments[1]);

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

#define describe_CommandListAppendLaunchCooperativeKernel describe_CommandListAppendLaunchKernel

/* The numbers of groups are where the device finds them. */
static void describe_CommandListAppendLaunchKernelIndirect(struct work *w, void **arguments)
{
	describe_kernel(w, arguments);
}

static void describe_CommandListAppendMemoryCopy(struct work *w, void **arguments)
{
	w->kind = WIRE_WORK_COPY;
	w->bytes = *(size_t *)arguments[3];
}

static void describe_CommandListAppendMemoryCopyFromContext(struct work *w, void **arguments)
{
	w->kind = WIRE_WORK_COPY;
	w->bytes = *(size_t *)arguments[4];
}

static void describe_CommandListAppendMemoryCopyRegion(struct work *w, void **arguments)
{
	const struct levelzero_copy_region *r = *(void **)arguments[2];

	w->kind = WIRE_WORK_COPY;
	if (r)
		w->bytes = (uint64_t)r->size[0] * r->size[1] * (r->size[2] ? r->size[2] : 1);
}

static void describe_CommandListAppendMemoryFill(struct work *w, void **arguments)
{
	w->kind = WIRE_WORK_SET;
	w->bytes = *(size_t *)arguments[4];
}

/* The piece that the command becomes; NULL: it is not followed. */
static struct piece *begin_command(uint16_t call, uint8_t kind, void **arguments, void **event,
	void (*describe)(struct work *, void **), const void *frame)
{
	struct list *list = is_recording() ? objects_list(*(void **)arguments[0]) : NULL;
	struct piece *p;

	if (!list || !list->immediate)
		return NULL;
	if (*event)
		pieces_settle(*event);
	p = list->context ? pieces_take(list->context) : NULL;
	if (!p) {
		count(WIRE_LOST_CALLS, 1);
		return NULL;
	}
	p->list = list;
	p->work = (struct work){0};
	describe(&p->work, arguments);
	p->event = *event ? *event : p->own;
	*event = p->event;
	p->open = new_call(call);
	if (library.overhead)
		bursts_call_begins();
	report_stack(&p->open, kind, frame);
	return p;
}

/* The program may wait for its event, wherever that is. */
static void report_event(const struct piece *p)
{
	struct wire_event_record record = {.type = WIRE_EVENT_RECORD,
		.context = p->list->context->number,
		.stream = p->list->number,
		.event = (uintptr_t)p->event,
		.time_ns = p->open.start_ns};

	if (!ring_put(&library.ring, &record))
		count(WIRE_LOST_EVENT_RECORDS, 1);
}

static void end_command(struct piece *p, uint8_t kind, int32_t result)
{
	struct wire_call record;

	if (!p)
		return;
	record = call_record(&p->open, kind, number_of(&p->open), result);
	call_report(&record);
	if (library.overhead)
		bursts_call_ends();
	p->returned_ns = record.end_ns;
	if (!result && library.syncs && p->event != p->own)
		report_event(p);
	if (result)
		pieces_give_back(p);
	else
		pieces_push(p);
}

#define COMMAND(number, kind, name, event)                                                         \
	static void before_##name(void **arguments, int32_t result, void *unused, void **instance) \
	{                                                                                          \
		*instance = begin_command(number, WIRE_CALL_##kind, arguments, arguments[event],   \
			describe_##name, __builtin_frame_address(0));                              \
	}                                                                                          \
	static void after_##name(void **arguments, int32_t result, void *unused, void **instance)  \
	{                                                                                          \
		end_command(*instance, WIRE_CALL_##kind, result);                                  \
	}
LEVELZERO_COMMANDS(COMMAND)
#undef COMMAND

/* --- waits: what is kept between begin and end is the thread's */

static void begin_wait(uint16_t call, const void *frame, void **instance)
{
	struct open_call open;

	*instance = NULL;
	if (!is_recording())
		return;
	open = new_call(call);
	*call_open(open.correlation, call) = open;
	report_stack(&open, WIRE_CALL_SYNC, frame);
	*instance = (void *)(uintptr_t)open.correlation;
}

/* What is waited for is not over in time: that is no failure. */
static void end_wait(uint16_t call, void **arguments, int32_t result, void **instance)
{
	uint32_t correlation = (uint32_t)(uintptr_t)*instance;
	const struct open_call *open = correlation ? call_close(correlation, call) : NULL;
	void *handle = *(void **)arguments[0];
	const struct list *list;
	struct wire_call record;

	if (!open)
		return;
	record = call_record(open, WIRE_CALL_SYNC, number_of(open),
		result == LEVELZERO_NOT_READY ? LEVELZERO_SUCCESS : result);
	list = call == NUMBER_CommandListHostSynchronize ? objects_list(handle) : NULL;
	if (library.syncs && list && list->context) {
		record.waits_for = WIRE_SYNC_STREAM;
		record.context = list->context->number;
		record.stream = list->number;
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
}
