// SPDX-License-Identifier: MIT
/*
 * Commands whose end is awaited.
 *
 *	   ends_push             look                      ends_drain
 *	 ------------> incoming ------> waiting ------> ended ------> reported, given back
 *	 (any thread)                (under the lock)              (our thread)
 *
 * Those that wait are also found by their event, in buckets. Level Zero counts no references: what
 * the program does with an event of its own ends what we may know of it. Before that, it is looked
 * at (ends_settle). Where a program uses an event again without a reset, it is signalled from
 * before: then it is known by its times whether the command has ended.
 *
 * Commands of a list mostly end one after the other: of each list, our thread looks at a few that
 * have not ended, and now and then at all.
 */
#include "inject/levelzero/levelzero.h"

#define BUCKETS	       4096u
#define PAUSE_NS       3000000ull
#define PAUSE_MAX_NS   24000000ull
#define STREAMS	       256u /* lists whose numbers are equal in so many share what follows */
#define LOOKS	       16u  /* at what has not ended, of a list */
#define LOOK_AT_ALL_IN 16u  /* rounds */

static struct {
	uint32_t incoming; /* a stack */
	uint32_t watched;  /* our thread looks */
	uint32_t closed;
	/* under the lock of pieces: */
	uint32_t first, last; /* that wait */
	uint32_t buckets[BUCKETS];
	struct links_list ended;
	uint64_t pause_ns, ended_count, round;
} ends = {.pause_ns = PAUSE_NS};

static struct piece *at(uint32_t n)
{
	return links_at(&pieces, n);
}

static uint32_t *bucket_of(const void *event)
{
	return &ends.buckets[(uintptr_t)event * 0x9e3779b97f4a7c15ull >> 52];
}

/* --- any thread */

void ends_wake(void)
{
	if (!__atomic_load_n(&ends.watched, __ATOMIC_SEQ_CST) &&
		!__atomic_exchange_n(&ends.watched, 1, __ATOMIC_SEQ_CST))
		collector_has_work();
}

void ends_prepare(struct piece *p)
{
	p->is_stale = false;
	if (p->event == p->own || levelzero.zeEventQueryStatus(p->event) == LEVELZERO_NOT_READY)
		return;
	ends_read_times(p);
	p->is_stale = p->has_times;
}

void ends_push(struct piece *p)
{
	p->has_times = false;
	links_push(&pieces, &ends.incoming, p);
	ends_wake();
}

bool ends_are_closed(void)
{
	return __atomic_load_n(&ends.closed, __ATOMIC_RELAXED);
}

/* --- those that wait: under the lock */

static void add_waiting(struct piece *p)
{
	uint32_t n = links_number(&pieces, p), *bucket = bucket_of(p->event);

	p->before = ends.last;
	p->after = 0;
	*(ends.last ? &at(ends.last)->after : &ends.first) = n;
	ends.last = n;
	p->bucket_before = 0;
	p->bucket_after = *bucket;
	if (*bucket)
		at(*bucket)->bucket_before = n;
	*bucket = n;
}

static void remove_waiting(struct piece *p)
{
	*(p->before ? &at(p->before)->after : &ends.first) = p->after;
	*(p->after ? &at(p->after)->before : &ends.last) = p->before;
	*(p->bucket_before ? &at(p->bucket_before)->bucket_after : bucket_of(p->event)) =
		p->bucket_after;
	if (p->bucket_after)
		at(p->bucket_after)->bucket_before = p->bucket_before;
}

/* When nothing is recorded any more the program's events are not looked at: they may be gone. */
static bool is_waited_for(const struct piece *p)
{
	return !ends_are_closed() || (p->own && p->event == p->own);
}

static void take_incoming(void)
{
	struct links_list all = links_take_all(&pieces, &ends.incoming);
	struct piece *p;

	while ((p = links_shift(&pieces, &all)))
		if (is_waited_for(p))
			add_waiting(p);
		else
			pieces_give_back(p);
}

static void drop_waiting(void)
{
	for (uint32_t n = ends.first; n;) {
		struct piece *p = at(n);

		n = p->after;
		if (is_waited_for(p))
			continue;
		remove_waiting(p);
		pieces_give_back(p);
	}
}

void ends_add(struct piece *p)
{
	links_append(&pieces, &ends.ended, p);
	__atomic_store_n(&ends.ended_count, ends.ended_count + 1, __ATOMIC_RELAXED);
}

void ends_read_times(struct piece *p)
{
	struct levelzero_timestamps times;

	p->has_times = !levelzero.zeEventQueryKernelTimestamp(p->event, &times);
	if (p->has_times) {
		p->start = times.start;
		p->end = times.end;
	}
}

static bool has_ended(struct piece *p)
{
	uint64_t start = p->start, end = p->end;

	if (levelzero.zeEventQueryStatus(p->event) == LEVELZERO_NOT_READY)
		return false;
	ends_read_times(p);
	if (p->is_stale && p->has_times && p->start == start && p->end == end)
		p->has_times = false;
	else
		p->is_stale = false;
	return !p->is_stale;
}

static void end(struct piece *p)
{
	remove_waiting(p);
	ends_add(p);
}

static void look(void)
{
	uint8_t looks[STREAMS] = {0};
	bool at_all = ++ends.round % LOOK_AT_ALL_IN == 0;

	take_incoming();
	for (uint32_t n = ends.first; n;) {
		struct piece *p = at(n);
		uint8_t *of_list = &looks[p->place.stream % STREAMS];

		n = p->after;
		if (*of_list == LOOKS && !at_all)
			continue;
		if (has_ended(p))
			end(p);
		else if (*of_list < LOOKS)
			++*of_list;
	}
}

/* What has not ended by now will not be known to: it has no times. */
void ends_settle_locked(const void *event)
{
	take_incoming();
	for (uint32_t n = *bucket_of(event); n;) {
		struct piece *p = at(n);

		n = p->bucket_after;
		if (p->event != event)
			continue;
		has_ended(p);
		end(p);
	}
}

void ends_settle(const void *event)
{
	if (!is_alive() || !pieces_lock())
		return;
	if (!ends_are_closed()) {
		ends_settle_locked(event);
		recorded_settle(event);
		signals_settle(event);
	}
	pieces_unlock();
}

void ends_leave_context(const struct context *c)
{
	take_incoming();
	for (uint32_t n = ends.first; n;) {
		struct piece *p = at(n);

		n = p->after;
		if (p->context != c)
			continue;
		has_ended(p);
		end(p);
	}
}

/* Who sees that it is closed lets go of events without us: so by then none is looked at. */
void ends_close(void)
{
	bool locked = pieces_lock();

	__atomic_store_n(&ends.closed, 1, __ATOMIC_SEQ_CST);
	if (!locked)
		return;
	signals_close();
	take_incoming();
	drop_waiting();
	pieces_unlock();
}

/* --- our thread */

static struct links_list take_ended(void)
{
	struct links_list ended = {0};
	uint64_t before = ends.ended_count;

	if (!pieces_lock())
		return ended;
	look();
	signals_look();
	ends.pause_ns = ends.ended_count != before     ? PAUSE_NS
			: ends.pause_ns < PAUSE_MAX_NS ? ends.pause_ns * 2
						       : ends.pause_ns;
	ended = ends.ended;
	ends.ended = (struct links_list){0};
	pieces_unlock();
	return ended;
}

/* Nothing is waited for: whoever comes next has to wake us. */
static void rest(void)
{
	__atomic_store_n(&ends.watched, 0, __ATOMIC_SEQ_CST);
	if (ends_waiting())
		__atomic_store_n(&ends.watched, 1, __ATOMIC_SEQ_CST);
}

void ends_drain(void (*visit)(struct piece *p))
{
	struct links_list ended;
	struct piece *p;

	pthread_mutex_lock(&library.no_fork);
	ended = take_ended();
	pthread_mutex_unlock(&library.no_fork);
	while ((p = links_shift(&pieces, &ended))) {
		visit(p);
		pieces_use_again(p);
	}
	if (!ends_waiting())
		rest();
}

uint64_t ends_sleep_ns(uint64_t most_ns)
{
	if (!__atomic_load_n(&ends.watched, __ATOMIC_SEQ_CST))
		return most_ns;
	return ends.pause_ns < most_ns ? ends.pause_ns : most_ns;
}

uint64_t ends_ended(void)
{
	return __atomic_load_n(&ends.ended_count, __ATOMIC_RELAXED);
}

bool ends_waiting(void)
{
	return __atomic_load_n(&ends.first, __ATOMIC_RELAXED) ||
	       __atomic_load_n(&ends.incoming, __ATOMIC_SEQ_CST) || signals_waiting();
}

/* --- callbacks for the program's own events: arguments are given by their addresses */

/* (context, description, count, devices, ret): its events get times, too. Handed over to other
 * processes they would be no secret. */
static void before_create_pool(void **arguments, int32_t result, void *unused, void **instance)
{
	static __thread struct levelzero_event_pool_desc ours;
	const struct levelzero_event_pool_desc **desc = arguments[1];

	if (!is_recording() || !*desc || (*desc)->flags & LEVELZERO_POOL_IPC)
		return;
	ours = **desc;
	ours.flags |= LEVELZERO_POOL_TIMESTAMPS;
	*desc = &ours;
}

/* (event) */
static void before_event_goes(void **arguments, int32_t result, void *unused, void **instance)
{
	ends_settle(*(void **)arguments[0]);
}

/* (list, event): of a recorded list, that is for later. */
static void before_list_resets(void **arguments, int32_t result, void *unused, void **instance)
{
	const struct list *l = objects_list(*(void **)arguments[0]);

	if (l && l->immediate)
		ends_settle(*(void **)arguments[1]);
}

void ends_register(void)
{
	tracer_register("EventPoolCreate", before_create_pool, NULL);
	tracer_register("EventHostReset", before_event_goes, NULL);
	tracer_register("EventDestroy", before_event_goes, NULL);
	tracer_register("CommandListAppendEventReset", before_list_resets, NULL);
}
