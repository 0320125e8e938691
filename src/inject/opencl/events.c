// SPDX-License-Identifier: MIT
/*
 * Commands whose end is awaited.
 *
 *	          events_take              events_push              events_look
 *	  free  ------------->  a call's  ------------->  incoming  ---------->  waiting, ended
 *	    ^                                             (any thread)             (under the lock)
 *	    '------------------------------------------------------ events_drain, our thread ---'
 *
 * `free` and `incoming` are stacks without locks: all of the latter is taken at once, and the head
 * of the former has a number that changes with each change. Commands of a queue in order end in
 * order: behind one that has not ended, nothing of its queue is looked at. Of queues out of order
 * a number in each round is.
 *
 * Our thread looks while something is waited for: every PAUSE_NS while some end, and more and more
 * seldom while none do. Whoever takes a command while it does not look wakes it.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "inject/links.h"
#include "inject/opencl/opencl.h"

#define PIECES	     65536u
#define EVENTS_MAX   49152u /* so that work without times still finds room */
#define UNORDERED    1024u  /* looked at in a round */
#define PAUSE_NS     3000000ull
#define PAUSE_MAX_NS 24000000ull
#define BATCH	     256

static struct {
	struct links pieces;
	uint64_t free;	   /* a stack: links.h */
	uint32_t fresh;	   /* of the pieces: those that were ever taken */
	uint32_t incoming; /* a stack */
	uint32_t held;	   /* events of which we hold a reference, or will */
	uint32_t watched;  /* our thread looks */
	uint32_t closed;
	pthread_mutex_t lock; /* for what follows */
	struct links_list waiting, ended;
	uint64_t round, pause_ns, ended_count;
} events = {.lock = PTHREAD_MUTEX_INITIALIZER, .pause_ns = PAUSE_NS};

/* The thread looks already: what drivers call back, when a reference is let go, may ask for a
 * count. */
static __thread bool looking;

int events_init(void)
{
	void *memory = mmap(NULL, PIECES * sizeof(struct piece), PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (memory == MAP_FAILED)
		return -1;
	events.pieces = (struct links){.things = memory, .size = sizeof(struct piece)};
	return 0;
}

static struct piece *at(uint32_t one_more)
{
	return links_at(&events.pieces, one_more);
}

/* --- the launch path */

struct piece *events_take(bool timed)
{
	struct piece *p;

	if (timed && __atomic_load_n(&events.held, __ATOMIC_RELAXED) >= EVENTS_MAX)
		return NULL;
	p = links_take(&events.pieces, &events.free);
	if (!p)
		p = links_take_fresh(&events.pieces, &events.fresh, PIECES);
	if (p) {
		p->event = NULL;
		p->stands_for = 0;
		p->not_timed = false;
	}
	return p;
}

void events_give_back(struct piece *p)
{
	links_give_back(&events.pieces, &events.free, p);
}

void events_push(struct piece *p)
{
	if (p->event)
		__atomic_fetch_add(&events.held, 1, __ATOMIC_RELAXED);
	links_push(&events.pieces, &events.incoming, p);
	if (__atomic_load_n(&events.closed, __ATOMIC_SEQ_CST)) {
		events_close();
		return;
	}
	if (!__atomic_load_n(&events.watched, __ATOMIC_SEQ_CST) &&
		!__atomic_exchange_n(&events.watched, 1, __ATOMIC_SEQ_CST))
		collector_has_work();
}

/* --- under the lock */

static void append(struct links_list *l, struct piece *p)
{
	links_append(&events.pieces, l, p);
}

static void take_incoming(void)
{
	struct links_list all = links_take_all(&events.pieces, &events.incoming);

	links_append_list(&events.pieces, &events.waiting, &all);
}

static void let_go(struct piece *p)
{
	opencl.clReleaseEvent(p->event);
	p->event = NULL;
	__atomic_fetch_sub(&events.held, 1, __ATOMIC_RELAXED);
}

static void read_times(struct piece *p)
{
	for (uint32_t n = 0; n < TIMES; n++)
		if (opencl.clGetEventProfilingInfo(p->event, OPENCL_PROFILING_QUEUED + n,
			    sizeof(p->times[n]), &p->times[n], NULL)) {
			memset(p->times, 0, sizeof(p->times));
			return;
		}
}

/* A command that failed has ended, too, and has no times. */
static bool has_ended(struct piece *p)
{
	int32_t status = 0;

	if (!p->event)
		return true;
	if (opencl.clGetEventInfo(
		    p->event, OPENCL_EVENT_EXECUTION_STATUS, sizeof(status), &status, NULL))
		status = -1;
	if (status > 0)
		return false;
	if (!status)
		read_times(p);
	let_go(p);
	return true;
}

struct look {
	struct links_list kept, asked; /* asked: out of order, and looked at */
	uint32_t unordered;
	bool any_ended;
};

static void look_at(struct look *l, struct piece *p)
{
	bool ordered = p->queue && p->queue->in_order;

	if (p->event && (ordered ? p->queue->blocked == events.round : l->unordered == UNORDERED)) {
		append(&l->kept, p);
		return;
	}
	l->unordered += p->event && !ordered;
	if (has_ended(p)) {
		append(&events.ended, p);
		l->any_ended = true;
		events.ended_count++;
		return;
	}
	if (ordered)
		p->queue->blocked = events.round;
	append(ordered ? &l->kept : &l->asked, p);
}

static void look_at_all(void)
{
	struct look look = {0};
	uint32_t n;

	take_incoming();
	events.round++;
	for (n = events.waiting.first; n;) {
		struct piece *p = at(n);

		n = p->next;
		look_at(&look, p);
	}
	events.waiting = look.kept;
	links_append_list(&events.pieces, &events.waiting, &look.asked);
	if (look.any_ended)
		events.pause_ns = PAUSE_NS;
	else if (events.pause_ns < PAUSE_MAX_NS)
		events.pause_ns *= 2;
}

/* False: the thread has it already, or this is a forked child, where another may have had it. */
static bool lock(void)
{
	if (looking || (!is_alive() && getpid() != library.pid))
		return false;
	pthread_mutex_lock(&events.lock);
	looking = true;
	return true;
}

static void unlock(void)
{
	looking = false;
	pthread_mutex_unlock(&events.lock);
}

void events_look(void)
{
	if (__atomic_load_n(&events.closed, __ATOMIC_RELAXED) || !lock())
		return;
	look_at_all();
	unlock();
}

bool events_hold(const void *event)
{
	bool found = false;

	if (!lock())
		return false;
	take_incoming();
	for (uint32_t n = events.waiting.first; n && !found; n = at(n)->next)
		found = at(n)->event == event;
	unlock();
	return found;
}

/* Of those that nobody waits for any more. */
void events_close(void)
{
	__atomic_store_n(&events.closed, 1, __ATOMIC_SEQ_CST);
	if (!lock())
		return;
	take_incoming();
	for (uint32_t n = events.waiting.first; n;) {
		struct piece *p = at(n);

		n = p->next;
		if (p->event)
			let_go(p);
		events_give_back(p);
	}
	events.waiting = (struct links_list){0};
	unlock();
}

/* --- our thread */

static struct links_list take_ended(void)
{
	struct links_list ended = {0};

	if (!lock())
		return ended;
	ended = events.ended;
	events.ended = (struct links_list){0};
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

/* Those that are kept come first the next time. */
static struct links_list kept;

static void visit_batch(void (*visit)(struct piece *[], size_t, bool), struct piece *batch[],
	size_t count, bool may_wait)
{
	visit(batch, count, may_wait);
	for (size_t i = 0; i < count; i++) {
		if (batch[i]->waits)
			append(&kept, batch[i]);
		else
			events_give_back(batch[i]);
	}
}

void events_drain(void (*visit)(struct piece *pieces[], size_t count, bool may_wait), bool may_wait)
{
	struct piece *batch[BATCH];
	struct links_list ended = kept, new;
	uint32_t n;

	pthread_mutex_lock(&library.no_fork);
	events_look();
	pthread_mutex_unlock(&library.no_fork);
	new = take_ended();
	links_append_list(&events.pieces, &ended, &new);
	kept = (struct links_list){0};
	for (n = ended.first; n;) {
		size_t count = 0;

		for (; n && count < BATCH; n = at(n)->next)
			batch[count++] = at(n);
		visit_batch(visit, batch, count, may_wait);
	}
	if (!events_waiting())
		rest();
}

uint64_t events_sleep_ns(uint64_t most_ns)
{
	if (!__atomic_load_n(&events.watched, __ATOMIC_SEQ_CST))
		return most_ns;
	return events.pause_ns < most_ns ? events.pause_ns : most_ns;
}

uint64_t events_ended(void)
{
	return __atomic_load_n(&events.ended_count, __ATOMIC_RELAXED);
}

bool events_waiting(void)
{
	return events.waiting.first || kept.first ||
	       __atomic_load_n(&events.incoming, __ATOMIC_SEQ_CST);
}
