// SPDX-License-Identifier: MIT
/* The calls that execute recorded lists: each is a call with all work of its lists, and has a
 * signal (signals.c) that tells when that is over. */
#include "inject/levelzero/levelzero.h"

#define LISTS_AT_ONCE 65536u /* in a call: more are no sensible number */

#define CALL_NUMBER(number, kind, name, ...) NUMBER_##name = (number),
enum { LEVELZERO_EXECUTIONS(CALL_NUMBER) };
#undef CALL_NUMBER

/* Of the call that the thread is in. */
static __thread struct execution {
	struct signal *signal;
	struct place place;
	uint32_t steps;
	bool has_unknown;
} executing;

/* Under the lock: of each recorded list of a call. */
static void each_list(uint32_t list_count, void **handles,
	void (*visit)(struct list *l, void *context), void *context)
{
	for (uint32_t n = 0; handles && n < list_count && n < LISTS_AT_ONCE; n++) {
		struct list *l = objects_list(handles[n]);

		if (!l)
			executing.has_unknown = true;
		else if (!l->immediate)
			visit(l, context);
	}
}

/* When it is closed nothing is waited for that is not ours. */
static void begin_run(struct list *l, void *open)
{
	executing.steps += l->step_count + l->left_out;
	if (executing.signal && !ends_are_closed())
		run_begin(l, executing.signal, &executing.place, open);
}

static void miss_run(struct list *l, void *call)
{
	run_unseen(l, &executing.place, call);
}

/* What is executed while nothing is recorded overwrites times, too. */
static void give_up_runs(uint32_t list_count, void **handles, const struct place *place)
{
	if (ends_are_closed() || !is_alive() || !pieces_lock())
		return;
	executing.place = place ? *place : (struct place){0};
	each_list(list_count, handles, miss_run, NULL);
	pieces_unlock();
}

static __thread struct timed_call execution; /* of the one in which the thread is */

static struct open_call *open_execution(uint16_t call, const void *frame, void **instance)
{
	struct open_call *open = call_open(commands_next_id(), call);

	open->start_ns = now_ns();
	executing = (struct execution){0};
	*instance = (void *)(uintptr_t)open->correlation;
	if (library.overhead)
		bursts_call_begins();
	if (!(open->flags & WIRE_FLAG_UNMARKED))
		call_report_stack(open, WIRE_CALL_GRAPH, frame);
	return open;
}

/* Of a program that was joined: a queue runs lists of its own device. */
static struct queue *queue_of(void *queue, uint32_t list_count, void **handles)
{
	struct queue *q = objects_queue(queue);

	if (q || !library.joined || !is_recording() || !list_count || !handles)
		return q;
	return running_queue(queue, handles[0]);
}

/* (queue, count, lists, fence) */
static void before_CommandQueueExecuteCommandLists(
	void **arguments, int32_t result, void *unused, void **instance)
{
	uint32_t list_count = *(uint32_t *)arguments[1];
	void **handles = *(void ***)arguments[2], **fence = arguments[3];
	struct queue *q = queue_of(*(void **)arguments[0], list_count, handles);
	struct open_call *open;

	*instance = NULL;
	timed_begin(&execution);
	if (!is_recording()) {
		give_up_runs(list_count, handles, q ? &q->place : NULL);
		return;
	}
	open = open_execution(
		NUMBER_CommandQueueExecuteCommandLists, __builtin_frame_address(0), instance);
	if (!pieces_lock())
		return;
	executing.place = q ? q->place : (struct place){0};
	if (*fence)
		executing.signal = library.joined && q ? signals_know_fence(*fence, q)
						       : signal_of_fence(*fence);
	else if (q)
		executing.signal = signal_take_ours(q);
	if (executing.signal && *fence)
		signal_end_lists(executing.signal, true);
	else if (executing.signal)
		*fence = executing.signal->fence;
	each_list(list_count, handles, begin_run, open);
	pieces_unlock();
}

/* With the program's event, or one of ours. */
static void take_event(const struct list *l, void **event)
{
	struct signal as = {.place = l->place, .event = *event, .is_used = true};

	if (!*event) {
		as.piece = l->context ? pieces_take(l->context) : NULL;
		as.event = as.piece ? as.piece->own : NULL;
	}
	if (!as.event || !pieces_lock())
		return;
	if (*event) {
		ends_settle_locked(*event);
		recorded_settle(*event);
		signals_settle(*event);
	}
	executing.signal = signal_new(&as);
	if (executing.signal)
		*event = as.event;
	pieces_unlock();
	if (!executing.signal && as.piece)
		pieces_give_back(as.piece);
}

/* (immediate list, count, lists, ...) */
static void before_append_lists(
	uint16_t call, const void *frame, void **arguments, void **event, void **instance)
{
	const struct list *to = objects_list(*(void **)arguments[0]);
	uint32_t list_count = *(uint32_t *)arguments[1];
	void **handles = *(void ***)arguments[2];
	struct open_call *open;
	bool is_ours;

	*instance = NULL;
	timed_begin(&execution);
	if (!is_recording() || !to) {
		give_up_runs(list_count, handles, to ? &to->place : NULL);
		return;
	}
	open = open_execution(call, frame, instance);
	is_ours = !*event;
	take_event(to, event);
	executing.place = to->place;
	if (!pieces_lock())
		return;
	each_list(list_count, handles, begin_run, open);
	if (executing.signal && !executing.signal->lists) {
		executing.signal->is_used = false;
		signal_drop(executing.signal);
		executing.signal = NULL;
		*event = is_ours ? NULL : *event;
	}
	pieces_unlock();
}

/* (immediate list, count, lists, event) */
static void before_CommandListImmediateAppendCommandListsExp(
	void **arguments, int32_t result, void *unused, void **instance)
{
	before_append_lists(NUMBER_CommandListImmediateAppendCommandListsExp,
		__builtin_frame_address(0), arguments, arguments[3], instance);
}

/* (immediate list, count, lists, parameters, event) */
static void before_CommandListImmediateAppendCommandListsWithParameters(
	void **arguments, int32_t result, void *unused, void **instance)
{
	before_append_lists(NUMBER_CommandListImmediateAppendCommandListsWithParameters,
		__builtin_frame_address(0), arguments, arguments[4], instance);
}

/* Under the lock: of a call that has returned. */
static void settle_runs(struct signal *s, const struct wire_call *call)
{
	for (uint32_t n = s->lists, next; n; n = next) {
		struct list *l = links_at(&lists, n);

		next = l->next;
		if (l->run.correlation != call->correlation)
			continue;
		if (call->result) {
			s->is_used = false;
			run_drop(l);
		} else {
			l->run.returned_ns = call->end_ns;
		}
	}
	if (call->result && s->fence)
		s->is_used = false;
}

static struct wire_call report_execution(struct open_call *open, uint16_t number, int32_t result)
{
	struct wire_call record;

	if (executing.has_unknown)
		count(WIRE_UNKNOWN_LISTS, 1);
	if (!executing.steps)
		open->flags |= WIRE_FLAG_EMPTY;
	record = call_record(
		open, WIRE_CALL_GRAPH, LEVELZERO_API << WIRE_API_SHIFT | number, result);
	if (library.syncs) {
		record.context = executing.place.context;
		record.stream = executing.place.stream;
	}
	call_report(&record);
	if (library.overhead)
		bursts_call_ends();
	return record;
}

static void end_execution(uint16_t number, void **arguments, int32_t result, void **instance)
{
	uint32_t correlation = (uint32_t)(uintptr_t)*instance;
	struct open_call *open = correlation ? call_close(correlation, number) : NULL;
	struct wire_call call;

	if (!open)
		return;
	call = report_execution(open, number, result);
	if (!pieces_lock())
		return;
	if (executing.signal)
		settle_runs(executing.signal, &call);
	else if (!result)
		each_list(*(uint32_t *)arguments[1], *(void ***)arguments[2], miss_run, &call);
	pieces_unlock();
	ends_wake();
}

#define EXECUTION(number, kind, name)                                                              \
	static void after_##name(void **arguments, int32_t result, void *unused, void **instance)  \
	{                                                                                          \
		end_execution(number, arguments, result, instance);                                \
		timed_end(&execution);                                                             \
	}
LEVELZERO_EXECUTIONS(EXECUTION)
#undef EXECUTION

void runs_register(void)
{
#define REGISTER(number, kind, name) tracer_register(#name, before_##name, after_##name);
	LEVELZERO_EXECUTIONS(REGISTER)
#undef REGISTER
}
