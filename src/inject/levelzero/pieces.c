// SPDX-License-Identifier: MIT
/*
 * Commands whose end is awaited.
 *
 *	         pieces_take               pieces_push              look
 *	  free  ------------->  a call's  ------------->  incoming  ---->  waiting, ended
 *	    ^                                             (any thread)     (under the lock)
 *	    '------------------------------------------------------ pieces_drain, our thread ---'
 *
 * Pieces are free in the context of their event. `free` and `incoming` are stacks without locks:
 * all of the latter is taken at once, and the head of the former has a number that changes with
 * each change. New pieces are made by the call that finds none, some hundreds at once.
 *
 * Level Zero counts no references: what the program does with an event of its own ends what we may
 * know of it. Before that, it is looked at.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "inject/levelzero/levelzero.h"

#define CHUNK	     256u
#define PIECES	     (192u * CHUNK)
#define PAUSE_NS     3000000ull
#define PAUSE_MAX_NS 24000000ull

struct pieces_list {
	uint32_t first, last; /* index plus one; 0: empty */
};

static struct {
	struct piece *pieces;
	uint32_t incoming; /* index plus one */
	uint32_t watched;  /* our thread looks */
	uint32_t closed;
	pthread_mutex_t lock; /* for what follows */
	uint32_t made;	      /* of the pieces */
	struct pieces_list waiting, ended;
	uint64_t pause_ns, ended_count;
} events = {.lock = PTHREAD_MUTEX_INITIALIZER, .pause_ns = PAUSE_NS};

int pieces_init(void)
{
	void *memory = mmap(NULL, PIECES * sizeof(struct piece), PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (memory == MAP_FAILED)
		return -1;
	events.pieces = memory;
	return 0;
}

static struct piece *at(uint32_t one_more)
{
	return &events.pieces[one_more - 1];
}

static uint32_t number_of(const struct piece *p)
{
	return (uint32_t)(p - events.pieces) + 1;
}

/* The thread has the lock already: what we do with events of ours is traced like all calls. */
static __thread bool has_lock;

/* False: so it is, or this is a forked child, where another thread may have had it. */
static bool lock(void)
{
	if (has_lock || (!is_alive() && getpid() != library.pid))
		return false;
	pthread_mutex_lock(&events.lock);
	has_lock = true;
	return true;
}

static void unlock(void)
{
	has_lock = false;
	pthread_mutex_unlock(&events.lock);
}

/* --- the launch path */

static struct piece *take_free(struct context *c)
{
	uint64_t head = __atomic_load_n(&c->free, __ATOMIC_ACQUIRE), next;

	do {
		if (!(uint32_t)head)
			return NULL;
		next = ((head >> 32) + 1) << 32 |
		       __atomic_load_n(&at((uint32_t)head)->next, __ATOMIC_RELAXED);
	} while (!__atomic_compare_exchange_n(
		&c->free, &head, next, true, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
	return at((uint32_t)head);
}

void pieces_give_back(struct piece *p)
{
	uint64_t *free = &p->context->free;
	uint64_t head = __atomic_load_n(free, __ATOMIC_RELAXED), next;

	do {
		__atomic_store_n(&p->next, (uint32_t)head, __ATOMIC_RELAXED);
		next = ((head >> 32) + 1) << 32 | number_of(p);
	} while (!__atomic_compare_exchange_n(
		free, &head, next, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}

/* Under the lock. */
static void make_chunk(struct context *c)
{
	const struct levelzero_event_pool_desc of_pool = {.stype = LEVELZERO_IS_EVENT_POOL_DESC,
		.flags = LEVELZERO_POOL_HOST_VISIBLE | LEVELZERO_POOL_TIMESTAMPS,
		.count = CHUNK};
	struct levelzero_event_desc of_event = {.stype = LEVELZERO_IS_EVENT_DESC};
	void *pool;

	if (events.made + CHUNK > PIECES || c->gone ||
		c->pool_count == sizeof(c->pools) / sizeof(c->pools[0]) ||
		levelzero.zeEventPoolCreate(c->handle, &of_pool, 0, NULL, &pool))
		return;
	c->pools[c->pool_count++] = pool;
	for (; of_event.index < CHUNK; of_event.index++) {
		struct piece *p = &events.pieces[events.made];

		if (levelzero.zeEventCreate(pool, &of_event, &p->own))
			return;
		events.made++;
		p->context = c;
		pieces_give_back(p);
	}
}

struct piece *pieces_take(struct context *c)
{
	struct piece *p = take_free(c);

	if (p || !lock())
		return p;
	p = take_free(c);
	if (!p && !c->gone)
		make_chunk(c);
	unlock();
	return p ?: take_free(c);
}

void pieces_push(struct piece *p)
{
	uint32_t head = __atomic_load_n(&events.incoming, __ATOMIC_RELAXED), own = number_of(p);

	p->has_times = false;
	do
		p->next = head;
	while (!__atomic_compare_exchange_n(
		&events.incoming, &head, own, true, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
	if (!__atomic_load_n(&events.watched, __ATOMIC_SEQ_CST) &&
		!__atomic_exchange_n(&events.watched, 1, __ATOMIC_SEQ_CST))
		collector_has_work();
}

/* --- under the lock */

static void append(struct pieces_list *l, struct piece *p)
{
	p->next = 0;
	if (l->last)
		at(l->last)->next = number_of(p);
	else
		l->first = number_of(p);
	l->last = number_of(p);
}

/* The latest is the first of them. */
static void take_incoming(void)
{
	uint32_t n = __atomic_exchange_n(&events.incoming, 0, __ATOMIC_SEQ_CST), before = 0;

	while (n) {
		uint32_t next = at(n)->next;

		at(n)->next = before;
		before = n;
		n = next;
	}
	while (before) {
		struct piece *p = at(before);

		before = p->next;
		append(&events.waiting, p);
	}
}

/* Reads the times of a piece whose command has ended. */
static bool has_ended(struct piece *p)
{
	struct levelzero_timestamps times;

	if (levelzero.zeEventQueryStatus(p->event) == LEVELZERO_NOT_READY)
		return false;
	p->has_times = !levelzero.zeEventQueryKernelTimestamp(p->event, &times);
	if (p->has_times) {
		p->start = times.start;
		p->end = times.end;
	}
	return true;
}

/* Looks at those whose `event` it is, or all (NULL); of `leaving`, they count as ended. */
static bool look(const void *event, const struct context *leaving)
{
	struct pieces_list kept = {0};
	bool any = false;
	uint32_t n;

	take_incoming();
	for (n = events.waiting.first; n;) {
		struct piece *p = at(n);
		bool is_meant =
			(!event || p->event == event) && (!leaving || p->context == leaving);

		n = p->next;
		if (is_meant && (has_ended(p) || event || leaving)) {
			append(&events.ended, p);
			events.ended_count++;
			any = true;
		} else {
			append(&kept, p);
		}
	}
	events.waiting = kept;
	return any;
}

void pieces_settle(const void *event)
{
	if (!is_alive() || __atomic_load_n(&events.closed, __ATOMIC_RELAXED) || !lock())
		return;
	look(event, NULL);
	unlock();
}

/* Events go before their pools, and these before the context. What has ended is still reported. */
void pieces_leave_context(struct context *c)
{
	if (!lock())
		return;
	look(NULL, c);
	/* Also where the context lives on, as its end is refused. */
	c->gone = true;
	__atomic_store_n(&c->free, 0, __ATOMIC_SEQ_CST);
	for (uint32_t n = 0; n < events.made; n++)
		if (events.pieces[n].context == c && events.pieces[n].own) {
			levelzero.zeEventDestroy(events.pieces[n].own);
			events.pieces[n].own = NULL;
		}
	for (uint32_t n = 0; n < c->pool_count; n++)
		levelzero.zeEventPoolDestroy(c->pools[n]);
	c->pool_count = 0;
	unlock();
}

void pieces_close(void)
{
	__atomic_store_n(&events.closed, 1, __ATOMIC_SEQ_CST);
	if (!lock())
		return;
	take_incoming();
	events.waiting = (struct pieces_list){0};
	unlock();
}

/* --- our thread */

static struct pieces_list take_ended(void)
{
	struct pieces_list ended = {0};
	bool any;

	if (!lock())
		return ended;
	any = look(NULL, NULL);
	events.pause_ns = any				   ? PAUSE_NS
			  : events.pause_ns < PAUSE_MAX_NS ? events.pause_ns * 2
							   : events.pause_ns;
	ended = events.ended;
	events.ended = (struct pieces_list){0};
	unlock();
	return ended;
}

/* Nothing is waited for: whoever comes next has to wake us. */
static void rest(void)
{
	__atomic_store_n(&events.watched, 0, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&events.incoming, __ATOMIC_SEQ_CST))
		__atomic_store_n(&events.watched, 1, __ATOMIC_SEQ_CST);
}

/* An event of ours is not signalled any more when it is used again. */
static void use_again(struct piece *p)
{
	if (!lock())
		return;
	if (p->own && p->event == p->own)
		levelzero.zeEventHostReset(p->own);
	unlock();
	if (!p->context->gone)
		pieces_give_back(p);
}

void pieces_drain(void (*visit)(struct piece *p))
{
	struct pieces_list ended;

	pthread_mutex_lock(&library.no_fork);
	ended = take_ended();
	pthread_mutex_unlock(&library.no_fork);
	for (uint32_t n = ended.first; n;) {
		struct piece *p = at(n);

		n = p->next;
		visit(p);
		use_again(p);
	}
	if (!pieces_waiting())
		rest();
}

uint64_t pieces_sleep_ns(uint64_t most_ns)
{
	if (!__atomic_load_n(&events.watched, __ATOMIC_SEQ_CST))
		return most_ns;
	return events.pause_ns < most_ns ? events.pause_ns : most_ns;
}

uint64_t pieces_ended(void)
{
	return __atomic_load_n(&events.ended_count, __ATOMIC_RELAXED);
}

bool pieces_waiting(void)
{
	return events.waiting.first || __atomic_load_n(&events.incoming, __ATOMIC_SEQ_CST);
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
	pieces_settle(*(void **)arguments[0]);
}

/* (list, event) */
static void before_list_resets(void **arguments, int32_t result, void *unused, void **instance)
{
	pieces_settle(*(void **)arguments[1]);
}

void pieces_register(void)
{
	tracer_register("EventPoolCreate", before_create_pool, NULL);
	tracer_register("EventHostReset", before_event_goes, NULL);
	tracer_register("EventDestroy", before_event_goes, NULL);
	tracer_register("CommandListAppendEventReset", before_list_resets, NULL);
}
