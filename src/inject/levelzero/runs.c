// SPDX-License-Identifier: MIT
/*
 * Executions of recorded lists, and the signals that tell when they are over: the program's fence, one
 * of ours where it has none, or, where lists are appended to an immediate list, an event.
 *
 * A queue keeps the fences that we made for it, and they are used again when they are signalled. One
 * signal is that of all lists of a call.
 */
#include "inject/bursts.h"
#include "inject/handles.h"
#include "inject/levelzero/levelzero.h"

#define SIGNALS	       8192u
#define OURS_OF_QUEUES 1024u
#define LOOKS	       4u /* at fences of ours, for one that is free */
#define LISTS_AT_ONCE  65536u /* in a call: more are no sensible number */

#define CALL_NUMBER(number, kind, name, ...) NUMBER_##name = (number),
enum { LEVELZERO_EXECUTIONS(CALL_NUMBER) };
#undef CALL_NUMBER

static struct signal places[SIGNALS];
static const struct links signals = {.things = (char *)places, .size = sizeof(places[0])};
static struct handles signals_by_fence;
static struct links_list free_signals;
static uint32_t fresh, first_active, active_events;

int runs_init(void)
{
	return handles_init(&signals_by_fence);
}

static struct signal *signal_at(uint32_t n)
{
	return links_at(&signals, n);
}

static uint32_t number_of(const struct signal *s)
{
	return links_number(&signals, s);
}

/* --- signals: under the lock */

static struct signal *new_signal(const struct signal *as)
{
	struct signal *s = links_shift(&signals, &free_signals);

	s = s ?: links_take_fresh(&signals, &fresh, SIGNALS);
	if (s)
		*s = *as;
	return s;
}

static bool may_go(uintptr_t signal)
{
	return !signal;
}

static struct signal *signal_of_fence(const void *fence)
{
	return (struct signal *)handles_get(&signals_by_fence, fence);
}

bool signal_has_come(const struct signal *s)
{
	return (s->fence ? levelzero.zeFenceQueryStatus(s->fence)
			 : levelzero.zeEventQueryStatus(s->event)) != LEVELZERO_NOT_READY;
}

static void activate(struct signal *s)
{
	s->before = 0;
	s->after = first_active;
	if (first_active)
		signal_at(first_active)->before = number_of(s);
	__atomic_store_n(&first_active, number_of(s), __ATOMIC_RELAXED);
	active_events += s->event != NULL;
}

static void deactivate(struct signal *s)
{
	if (s->before)
		signal_at(s->before)->after = s->after;
	else
		__atomic_store_n(&first_active, s->after, __ATOMIC_RELAXED);
	if (s->after)
		signal_at(s->after)->before = s->before;
	active_events -= s->event != NULL;
}

void signal_enter(struct signal *s, struct list *l)
{
	if (!s->lists)
		activate(s);
	l->next = s->lists;
	s->lists = links_number(&lists, l);
}

static void drop_event(struct signal *s)
{
	if (s->piece) {
		levelzero.zeEventHostReset(s->piece->own);
		pieces_give_back(s->piece);
	}
	links_append(&signals, &free_signals, s);
}

void signal_leave(struct signal *s, struct list *l)
{
	uint32_t *n = &s->lists;

	while (*n && links_at(&lists, *n) != l)
		n = &((struct list *)links_at(&lists, *n))->next;
	if (!*n)
		return;
	*n = l->next;
	if (s->lists)
		return;
	deactivate(s);
	if (!s->fence)
		drop_event(s);
}

/* Its lists; it may be free afterwards. */
static void end_lists(struct signal *s, bool is_over)
{
	while (s->lists)
		run_end(links_at(&lists, s->lists), is_over);
}

static void forget_fence(struct signal *s)
{
	end_lists(s, signal_has_come(s));
	handles_put(&signals_by_fence, s->fence, 0, may_go);
	links_append(&signals, &free_signals, s);
}

void runs_settle(const void *event)
{
	for (uint32_t n = active_events ? first_active : 0; n;) {
		struct signal *s = signal_at(n);

		n = s->after;
		if (s->event == event)
			end_lists(s, signal_has_come(s));
	}
}

void runs_look(void)
{
	for (uint32_t n = first_active; n;) {
		struct signal *s = signal_at(n);

		n = s->after;
		if (signal_has_come(s))
			end_lists(s, true);
	}
}

void runs_close(void)
{
	for (uint32_t n = first_active; n;) {
		struct signal *s = signal_at(n);

		n = s->after;
		end_lists(s, false);
	}
}

bool runs_waiting(void)
{
	return __atomic_load_n(&first_active, __ATOMIC_RELAXED);
}

/* --- fences of ours */

static bool can_use_again(struct signal *s)
{
	if (s->lists)
		return false;
	if (!s->is_used)
		return true;
	return signal_has_come(s) && !levelzero.zeFenceReset(s->fence);
}

static struct signal *make_ours(struct queue *q)
{
	const struct levelzero_fence_desc desc = {.stype = LEVELZERO_IS_FENCE_DESC};
	struct signal as = {.place = q->place, .of_queue = q->signals}, *s;

	if (q->signal_count == OURS_OF_QUEUES || levelzero.zeFenceCreate(q->handle, &desc, &as.fence))
		return NULL;
	s = new_signal(&as);
	if (!s) {
		levelzero.zeFenceDestroy(as.fence);
		return NULL;
	}
	q->signals = number_of(s);
	q->signal_count++;
	return s;
}

/* They are signalled in the order in which they were used: so the search goes on where it ended. */
static struct signal *take_ours(struct queue *q)
{
	struct signal *s = NULL;

	for (uint32_t n = 0; n < LOOKS && n < q->signal_count && !s; n++) {
		uint32_t next = q->next_signal ? q->next_signal : q->signals;

		q->next_signal = signal_at(next)->of_queue;
		if (can_use_again(signal_at(next)))
			s = signal_at(next);
	}
	s = s ?: make_ours(q);
	if (s)
		s->is_used = true;
	return s;
}

void runs_leave_queue(struct queue *q)
{
	while (q->signals) {
		struct signal *s = signal_at(q->signals);

		q->signals = s->of_queue;
		end_lists(s, signal_has_come(s));
		levelzero.zeFenceDestroy(s->fence);
		links_append(&signals, &free_signals, s);
	}
	q->signal_count = q->next_signal = 0;
}

const struct place *runs_place(const void *fence)
{
	const struct signal *s = signal_of_fence(fence);

	return s ? &s->place : NULL;
}

/* --- executions */

/* Of the call that the thread is in. */
static __thread struct execution {
	struct signal *signal;
	struct place place;
	uint32_t steps;
} executing;

/* Under the lock: of each recorded list of a call. */
static void each_list(uint32_t list_count, void **handles, void (*visit)(struct list *l, void *context),
	void *context)
{
	for (uint32_t n = 0; handles && n < list_count && n < LISTS_AT_ONCE; n++) {
		struct list *l = objects_list(handles[n]);

		if (!l)
			count(WIRE_LOST_WORK, 1);
		else if (!l->immediate)
			visit(l, context);
	}
}

static void begin_run(struct list *l, void *open)
{
	executing.steps += l->step_count + l->left_out;
	if (executing.signal)
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

/* (queue, count, lists, fence) */
static void before_CommandQueueExecuteCommandLists(
	void **arguments, int32_t result, void *unused, void **instance)
{
	struct queue *q = objects_queue(*(void **)arguments[0]);
	uint32_t list_count = *(uint32_t *)arguments[1];
	void **handles = *(void ***)arguments[2], **fence = arguments[3];
	struct open_call *open;

	*instance = NULL;
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
		executing.signal = signal_of_fence(*fence);
	else if (q)
		executing.signal = take_ours(q);
	if (executing.signal && *fence)
		end_lists(executing.signal, true);
	else if (executing.signal)
		*fence = executing.signal->fence;
	each_list(list_count, handles, begin_run, open);
	pieces_unlock();
}

/* With the program's event, or one of ours. */
static void take_event(const struct list *l, void **event)
{
	struct signal as = {.place = l->place, .event = *event};

	if (!*event) {
		as.piece = l->context ? pieces_take(l->context) : NULL;
		as.event = as.piece ? as.piece->own : NULL;
	}
	if (!as.event || !pieces_lock())
		return;
	if (*event) {
		ends_settle_locked(*event);
		recorded_settle(*event);
		runs_settle(*event);
	}
	executing.signal = new_signal(&as);
	if (executing.signal)
		*event = as.event;
	pieces_unlock();
	if (!executing.signal && as.piece)
		pieces_give_back(as.piece);
}

/* (immediate list, count, lists, event) */
static void before_CommandListImmediateAppendCommandListsExp(
	void **arguments, int32_t result, void *unused, void **instance)
{
	const struct list *to = objects_list(*(void **)arguments[0]);
	uint32_t list_count = *(uint32_t *)arguments[1];
	void **handles = *(void ***)arguments[2], **event = arguments[3];
	struct open_call *open;
	bool is_ours;

	*instance = NULL;
	if (!is_recording() || !to) {
		give_up_runs(list_count, handles, to ? &to->place : NULL);
		return;
	}
	open = open_execution(NUMBER_CommandListImmediateAppendCommandListsExp,
		__builtin_frame_address(0), instance);
	is_ours = !*event;
	take_event(to, event);
	executing.place = to->place;
	if (!pieces_lock())
		return;
	each_list(list_count, handles, begin_run, open);
	if (executing.signal && !executing.signal->lists) {
		drop_event(executing.signal);
		executing.signal = NULL;
		*event = is_ours ? NULL : *event;
	}
	pieces_unlock();
}

/* Under the lock: of a call that has returned. */
static void settle_runs(struct signal *s, const struct wire_call *call)
{
	for (uint32_t n = s->lists, next; n; n = next) {
		struct list *l = links_at(&lists, n);

		next = l->next;
		if (l->run.correlation != call->correlation)
			continue;
		if (call->result)
			run_drop(l);
		else
			l->run.returned_ns = call->end_ns;
	}
	if (call->result && s->fence)
		s->is_used = false;
}

static struct wire_call report_execution(struct open_call *open, uint16_t number, int32_t result)
{
	struct wire_call record;

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
		end_execution(number, arguments, result, instance);                                           \
	}
LEVELZERO_EXECUTIONS(EXECUTION)
#undef EXECUTION

/* --- the program's fences */

/* (queue, description, ret) */
static void after_create_fence(void **arguments, int32_t result, void *unused, void **instance)
{
	const struct queue *q = objects_queue(*(void **)arguments[0]);
	void **made = *(void ***)arguments[2];
	struct signal *s;

	if (result || !made || !*made || !q || !pieces_lock())
		return;
	s = new_signal(&(struct signal){.fence = *made, .place = q->place});
	if (s && !handles_put(&signals_by_fence, *made, (uintptr_t)s, may_go))
		links_append(&signals, &free_signals, s);
	pieces_unlock();
}

/* (fence) */
static void before_reset_fence(void **arguments, int32_t result, void *unused, void **instance)
{
	struct signal *s;

	if (ends_are_closed() || !pieces_lock())
		return;
	s = signal_of_fence(*(void **)arguments[0]);
	if (s)
		end_lists(s, signal_has_come(s));
	pieces_unlock();
}

static void before_destroy_fence(void **arguments, int32_t result, void *unused, void **instance)
{
	struct signal *s;

	if (!pieces_lock())
		return;
	s = signal_of_fence(*(void **)arguments[0]);
	if (s)
		forget_fence(s);
	pieces_unlock();
}

void runs_register(void)
{
#define REGISTER(number, kind, name) tracer_register(#name, before_##name, after_##name);
	LEVELZERO_EXECUTIONS(REGISTER)
#undef REGISTER
	tracer_register("FenceCreate", NULL, after_create_fence);
	tracer_register("FenceReset", before_reset_fence, NULL);
	tracer_register("FenceDestroy", before_destroy_fence, NULL);
}
