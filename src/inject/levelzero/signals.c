// SPDX-License-Identifier: MIT
/*
 * Signals that tell when executions of recorded lists are over: the program's fence, one of ours
 * where it has none, or, where lists are appended to an immediate list, an event. One signal is
 * that of all lists of a call.
 *
 * A queue keeps the fences that we made for it, and they are used again when they are signalled.
 * What the program does with a fence of its own ends what we may know by it: before that, it is
 * looked at.
 */
#include "inject/handles.h"
#include "inject/levelzero/levelzero.h"

#define SIGNALS	       8192u
#define OURS_OF_QUEUES 1024u
#define LOOKS	       4u /* at fences of ours, for one that is free */

static struct signal places[SIGNALS];
static const struct links signals = {.things = (char *)places, .size = sizeof(places[0])};
static struct handles signals_by_fence;
static struct links_list free_signals;
static uint32_t fresh, first_active, active_events;

int signals_init(void)
{
	return handles_init(&signals_by_fence);
}

void signals_release(void)
{
	handles_release(&signals_by_fence);
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

struct signal *signal_new(const struct signal *as)
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

struct signal *signal_of_fence(const void *fence)
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

/* The device will still signal the event: until then, it waits as what is no work. */
static void await_event(struct piece *p, const struct place *place)
{
	p->event = p->own;
	p->place = *place;
	p->list = NULL;
	p->node = 0;
	p->is_stale = false;
	p->work = (struct work){0};
	ends_push(p);
}

void signal_drop(struct signal *s)
{
	struct piece *p = s->piece;

	if (p && s->is_used && !signal_has_come(s)) {
		await_event(p, &s->place);
	} else if (p) {
		levelzero.zeEventHostReset(p->own);
		pieces_give_back(p);
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
		signal_drop(s);
}

/* Its lists; it may be free afterwards. */
void signal_end_lists(struct signal *s, bool is_over)
{
	while (s->lists)
		run_end(links_at(&lists, s->lists), is_over);
}

static void forget_fence(struct signal *s)
{
	signal_end_lists(s, signal_has_come(s));
	handles_put(&signals_by_fence, s->fence, 0, may_go);
	links_append(&signals, &free_signals, s);
}

void signals_settle(const void *event)
{
	for (uint32_t n = active_events ? first_active : 0; n;) {
		struct signal *s = signal_at(n);

		n = s->after;
		if (s->event == event)
			signal_end_lists(s, signal_has_come(s));
	}
}

void signals_look(void)
{
	for (uint32_t n = first_active; n;) {
		struct signal *s = signal_at(n);

		n = s->after;
		if (signal_has_come(s))
			signal_end_lists(s, true);
	}
}

void signals_close(void)
{
	for (uint32_t n = first_active; n;) {
		struct signal *s = signal_at(n);

		n = s->after;
		signal_end_lists(s, false);
	}
}

bool signals_waiting(void)
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

	if (q->signal_count == OURS_OF_QUEUES ||
		levelzero.zeFenceCreate(q->handle, &desc, &as.fence))
		return NULL;
	s = signal_new(&as);
	if (!s) {
		levelzero.zeFenceDestroy(as.fence);
		return NULL;
	}
	q->signals = number_of(s);
	q->signal_count++;
	return s;
}

/* They are signalled in the order in which they were used: so the search goes on where it ended. */
struct signal *signal_take_ours(struct queue *q)
{
	struct signal *s = NULL;

	if (ends_are_closed())
		return NULL;
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

void signals_leave_queue(struct queue *q)
{
	while (q->signals) {
		struct signal *s = signal_at(q->signals);

		q->signals = s->of_queue;
		signal_end_lists(s, signal_has_come(s));
		levelzero.zeFenceDestroy(s->fence);
		links_append(&signals, &free_signals, s);
	}
	q->signal_count = q->next_signal = 0;
}

bool signals_let_go(struct queue *q)
{
	for (uint32_t n = q->signals; n; n = signal_at(n)->of_queue) {
		const struct signal *s = signal_at(n);

		if (s->lists || (s->is_used && !signal_has_come(s)))
			return false;
	}
	signals_leave_queue(q);
	return true;
}

const struct place *signals_place(const void *fence)
{
	const struct signal *s = signal_of_fence(fence);

	return s ? &s->place : NULL;
}

/* --- the program's fences */

static struct signal *know_fence(void *fence, const struct queue *q)
{
	struct signal *s = signal_new(&(struct signal){.fence = fence, .place = q->place});

	if (!s || handles_put(&signals_by_fence, fence, (uintptr_t)s, may_go))
		return s;
	links_append(&signals, &free_signals, s);
	return NULL;
}

struct signal *signals_know_fence(void *fence, const struct queue *q)
{
	return signal_of_fence(fence) ?: know_fence(fence, q);
}

/* (queue, description, ret) */
static void after_create_fence(void **arguments, int32_t result, void *unused, void **instance)
{
	const struct queue *q = objects_queue(*(void **)arguments[0]);
	void **made = *(void ***)arguments[2];

	if (result || !made || !*made || !q || !pieces_lock())
		return;
	know_fence(*made, q);
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
		signal_end_lists(s, signal_has_come(s));
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

void signals_register(void)
{
	tracer_register("FenceCreate", NULL, after_create_fence);
	tracer_register("FenceReset", before_reset_fence, NULL);
	tracer_register("FenceDestroy", before_destroy_fence, NULL);
}
