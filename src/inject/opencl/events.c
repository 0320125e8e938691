// SPDX-License-Identifier: MIT
/*
 * Commands whose end is awaited.
 *
 *	      events_take           events_push           look
 *	free ------------> a call's -----------> incoming -----> waiting ---> ended
 *	  ^                                 (any thread)      (under the lock)  |
 *	  '------------------------------------------- events_drain, our thread '
 *
 * Of what is over, references are let go of without the lock: the last one of an event may be the
 * last one of its context, whose destructors are the program's, and may do what they like. And a
 * driver may call back while it has a lock of its own, which we may wait for: so no thread of the
 * program's waits for our lock for long.
 *
 * `free`, `incoming` and `ended` are stacks without locks: all of the latter two is taken at once,
 * and the head of the former has a number that changes with each change. What waits is listed by
 * queue: commands of a queue in order end in order, so behind one that has not ended nothing is
 * looked at. Of those out of order a number in each round is.
 *
 * Our thread looks while something is waited for: every PAUSE_NS while some end, and more and more
 * seldom while none do. Whoever takes a command while it does not look wakes it.
 *
 * While a queue works, a driver may take long for each question: NVIDIA's (on an H200) 1.4 us, and
 * 5 to 10 after a command that has not ended, where it takes 0.17 when the queue is idle; and it
 * has one lock for questions and launches. So of a queue that a thread launches into fast, that
 * thread asks itself when it has waited for the queue, and our thread only once DEFERRED commands
 * wait. If our thread cannot follow, with CROWDED events, whoever launches does it until there are
 * fewer; our thread, which would have the lock for most of the time, only when nothing has come for
 * QUIET rounds.
 */
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "inject/launches.h"
#include "inject/links.h"
#include "inject/opencl/opencl.h"

#define PIECES	   131072u
#define EVENTS_MAX 49152u /* so that work without times still finds room */
#define UNORDERED  1024u  /* looked at in a round */
#define LATEST	   32u	  /* queues: when an event was waited for */
#define FAST	   64u	  /* launches in a round */
#define DEFERRED   8192u
#define CROWDED	   32768u
#define QUIET	   64u
#define HELP	   2u /* so many for a launch */

/* So long they are read at once, by our thread; by one of the program's that has waited for them,
 * or that has to be without any. */
#define OURS_NS	  15000000ull
#define WAITED_NS 5000000ull
#define LOOKED_NS 100000000ull

#define PAUSE_NS     3000000ull
#define PAUSE_MAX_NS 24000000ull
#define BATCH	     256
#define PATIENCE_MS  100 /* of threads of the program's, with others */

static struct {
	struct links pieces;
	uint64_t free;	   /* a stack: links.h */
	uint32_t fresh;	   /* of the pieces: those that were ever taken */
	uint32_t incoming; /* a stack */
	uint32_t ended;	   /* so too */
	uint32_t held;	   /* events of which we hold a reference, or will */
	uint32_t watched;  /* our thread looks */
	uint32_t leaving;  /* threads that let go of events */
	uint32_t looking;  /* who has the lock may have pieces that are nowhere else */
	uint32_t closed;
	uint64_t ended_count;
	pthread_mutex_t lock; /* for what follows */
	struct links_list unordered;
	struct queue *busy, **busy_end; /* queues in order of which some wait */
	bool deferred;			/* there were some that our thread did not look at */
	uint64_t pause_ns;
	bool came;	/* commands, since our thread looked last */
	uint32_t quiet; /* rounds in which none came */
} events = {.lock = PTHREAD_MUTEX_INITIALIZER, .busy_end = &events.busy, .pause_ns = PAUSE_NS};

/* The thread has the lock; and is letting go of events, in whatever is called back then. */
static __thread bool has_lock, lets_go;

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

/* --- under the lock */

static void append(struct links_list *l, struct piece *p)
{
	links_append(&events.pieces, l, p);
}

static void add_to_queue(struct queue *q, struct piece *p)
{
	append(&q->waiting, p);
	q->count++;
	q->added++;
	if (q->is_busy)
		return;
	q->is_busy = true;
	q->next_busy = NULL;
	*events.busy_end = q;
	events.busy_end = &q->next_busy;
}

/* What has no event is over. */
static void take_incoming(struct links_list *over)
{
	struct links_list all = links_take_all(&events.pieces, &events.incoming);
	struct piece *p;

	events.came |= all.first != 0;
	while ((p = links_shift(&events.pieces, &all)))
		if (!p->event)
			append(over, p);
		else if (p->queue && p->queue->in_order)
			add_to_queue(p->queue, p);
		else
			append(&events.unordered, p);
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

	if (opencl.clGetEventInfo(
		    p->event, OPENCL_EVENT_EXECUTION_STATUS, sizeof(status), &status, NULL))
		status = -1;
	if (!status)
		read_times(p);
	return status <= 0;
}

/* --- queues in order */

static bool is_crowded(void)
{
	return __atomic_load_n(&events.held, __ATOMIC_RELAXED) >= CROWDED;
}

static bool end_first(struct queue *q, struct links_list *over)
{
	if (!q->waiting.first || !has_ended(at(q->waiting.first)))
		return false;
	append(over, links_shift(&events.pieces, &q->waiting));
	q->count--;
	return true;
}

/* Until then; to ask what time it is takes as long as many questions. */
static void end_all(struct queue *q, uint64_t until_ns, struct links_list *over)
{
	for (uint32_t n = 1; end_first(q, over); n++)
		if (!(n % 16) && now_ns() > until_ns)
			return;
}

/* While our thread has the lock nobody can help, and events that it has read are still held. */
static bool is_in_the_way(void)
{
	return is_crowded() &&
	       (events.quiet < QUIET || __atomic_load_n(&events.incoming, __ATOMIC_RELAXED));
}

/* Of one that a thread launches into fast, only if that thread does not. */
static bool is_ours(struct queue *q)
{
	bool is_fast = q->added >= FAST;

	q->added = 0;
	events.deferred |= is_fast;
	return is_fast ? q->count >= DEFERRED && !is_crowded() : !is_in_the_way();
}

/* any: whoever else may look after them. */
static void look_at_queues(bool any, uint64_t until_ns, struct links_list *over)
{
	struct queue **next = &events.busy, *q;

	events.deferred = false;
	while ((q = *next)) {
		if (any || is_ours(q))
			end_all(q, until_ns, over);
		if (q->waiting.first) {
			next = &q->next_busy;
			continue;
		}
		q->is_busy = false;
		*next = q->next_busy;
	}
	events.busy_end = next;
}

/* --- all of them */

static void look_at_unordered(struct links_list *over)
{
	struct links_list asked = {0};
	struct piece *p;

	for (uint32_t n = 0; n < UNORDERED; n++) {
		p = links_shift(&events.pieces, &events.unordered);
		if (!p)
			break;
		append(has_ended(p) ? over : &asked, p);
	}
	links_append_list(&events.pieces, &events.unordered, &asked);
}

static void count_quiet(void)
{
	events.quiet = events.came ? 0 : events.quiet + 1;
	events.came = false;
}

static struct links_list look_at_all(bool any, uint64_t until_ns)
{
	struct links_list over = {0};

	take_incoming(&over);
	if (!any)
		count_quiet();
	look_at_queues(any, until_ns, &over);
	look_at_unordered(&over);
	if (over.first || events.deferred || __atomic_load_n(&events.ended, __ATOMIC_RELAXED))
		events.pause_ns = PAUSE_NS;
	else if (events.pause_ns < PAUSE_MAX_NS)
		events.pause_ns *= 2;
	return over;
}

/* --- the lock */

/* While a thread of the program's has the lock it is not cancelled, and runs no handler of a
 * signal, which may end the program, or never come back. */
struct held {
	struct undisturbed undisturbed;
	sigset_t signals;
};

static bool lock_soon(void)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += PATIENCE_MS * 1000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	return !pthread_mutex_clocklock(&events.lock, CLOCK_MONOTONIC, &until);
}

static bool lock_now(void)
{
	return !pthread_mutex_trylock(&events.lock);
}

/* False: the thread has it already, or another for too long; or this is a forked child, where
 * another may have had it. */
static bool lock(struct held *ret, bool (*take)(void))
{
	sigset_t all;

	if (has_lock || (!is_alive() && getpid() != library.pid))
		return false;
	sigfillset(&all);
	begin_slow(&ret->undisturbed);
	pthread_sigmask(SIG_BLOCK, &all, &ret->signals);
	has_lock = take();
	if (has_lock) {
		__atomic_store_n(&events.looking, 1, __ATOMIC_SEQ_CST);
		return true;
	}
	pthread_sigmask(SIG_SETMASK, &ret->signals, NULL);
	end_slow(&ret->undisturbed);
	return false;
}

static void unlock(const struct held *h)
{
	__atomic_store_n(&events.looking, 0, __ATOMIC_SEQ_CST);
	has_lock = false;
	pthread_mutex_unlock(&events.lock);
	pthread_sigmask(SIG_SETMASK, &h->signals, NULL);
	end_slow(&h->undisturbed);
}

/* Without the lock: pieces that nobody else has. */
static void let_go(const struct links_list *all)
{
	bool outer = lets_go;

	lets_go = true;
	for (uint32_t n = all->first; n; n = at(n)->next) {
		struct piece *p = at(n);

		if (!p->event)
			continue;
		opencl.clReleaseEvent(p->event);
		p->event = NULL;
		__atomic_fetch_sub(&events.held, 1, __ATOMIC_RELAXED);
	}
	lets_go = outer;
}

/* Then they have ended. Without the lock, as a driver may have one here. */
static void unlock_and_end(const struct held *h, const struct links_list *over)
{
	struct undisturbed u;

	if (over->first)
		__atomic_fetch_add(&events.leaving, 1, __ATOMIC_SEQ_CST);
	unlock(h);
	if (!over->first)
		return;
	begin_slow(&u);
	let_go(over);
	for (uint32_t n = over->first; n;) {
		struct piece *p = at(n);

		n = p->next;
		links_push(&events.pieces, &events.ended, p);
		__atomic_fetch_add(&events.ended_count, 1, __ATOMIC_RELAXED);
	}
	__atomic_fetch_sub(&events.leaving, 1, __ATOMIC_SEQ_CST);
	end_slow(&u);
}

static bool is_closed(void)
{
	return __atomic_load_n(&events.closed, __ATOMIC_RELAXED);
}

static bool look(bool any, uint64_t for_ns)
{
	struct links_list over;
	struct held h;

	if (is_closed() || !lock(&h, lock_soon))
		return false;
	over = look_at_all(any, now_ns() + for_ns);
	unlock_and_end(&h, &over);
	return true;
}

/* A thread of the program's has other things to do than to wait for others that look. */
static bool may_read(struct held *ret)
{
	return is_alive() && !lets_go && !is_closed() && lock(ret, lock_now);
}

void events_help(struct queue *q)
{
	struct links_list over = {0};
	struct held h;

	if (!is_crowded() || !may_read(&h))
		return;
	take_incoming(&over);
	for (uint32_t n = 0; n < HELP && end_first(q, &over); n++)
		;
	unlock_and_end(&h, &over);
}

/* Of which this event is the latest; NULL: none of those that were looked at. */
static struct queue *find_queue(const void *event)
{
	struct queue *q = events.busy;

	for (uint32_t n = 0; q && n < LATEST; n++, q = q->next_busy)
		if (q->waiting.last && at(q->waiting.last)->event == event)
			return q;
	return NULL;
}

void events_waited(struct queue *q, const void *event)
{
	struct links_list over = {0};
	struct held h;

	if ((!q && !event) || !may_read(&h))
		return;
	take_incoming(&over);
	if (event)
		q = find_queue(event);
	if (q)
		end_all(q, now_ns() + WAITED_NS, &over);
	unlock_and_end(&h, &over);
}

/* Also those that another thread lets go of just now. */
void events_look(void)
{
	const struct timespec pause = {.tv_nsec = 100000};

	if (lets_go || !look(true, LOOKED_NS))
		return;
	for (int n = 0; n < 10 * PATIENCE_MS && __atomic_load_n(&events.leaving, __ATOMIC_SEQ_CST);
		n++)
		nanosleep(&pause, NULL);
}

static bool is_listed(const struct links_list *l, const void *event)
{
	for (uint32_t n = l->first; n; n = at(n)->next)
		if (at(n)->event == event)
			return true;
	return false;
}

bool events_hold(const void *event)
{
	struct links_list over = {0};
	struct held h;
	bool found;

	if (!lock(&h, lock_soon))
		return false;
	take_incoming(&over);
	found = is_listed(&events.unordered, event);
	for (struct queue *q = events.busy; q && !found; q = q->next_busy)
		found = is_listed(&q->waiting, event);
	unlock_and_end(&h, &over);
	return found;
}

static struct links_list take_all_that_wait(void)
{
	struct links_list all = {0};

	take_incoming(&all);
	links_append_list(&events.pieces, &all, &events.unordered);
	events.unordered = (struct links_list){0};
	for (struct queue *q = events.busy; q; q = q->next_busy) {
		links_append_list(&events.pieces, &all, &q->waiting);
		q->waiting = (struct links_list){0};
		q->count = 0;
		q->is_busy = false;
	}
	events.busy = NULL;
	events.busy_end = &events.busy;
	return all;
}

static void close_events(void)
{
	struct links_list left;
	struct held h;
	uint32_t n;

	__atomic_store_n(&events.closed, 1, __ATOMIC_SEQ_CST);
	if (!lock(&h, lock_soon))
		return;
	left = take_all_that_wait();
	unlock(&h);
	let_go(&left);
	for (n = left.first; n;) {
		struct piece *p = at(n);

		n = p->next;
		events_give_back(p);
	}
}

/* --- the launch path again */

void events_push(struct piece *p)
{
	if (p->event)
		__atomic_fetch_add(&events.held, 1, __ATOMIC_RELAXED);
	links_push(&events.pieces, &events.incoming, p);
	if (__atomic_load_n(&events.closed, __ATOMIC_SEQ_CST)) {
		close_events();
		return;
	}
	if (!__atomic_load_n(&events.watched, __ATOMIC_SEQ_CST) &&
		!__atomic_exchange_n(&events.watched, 1, __ATOMIC_SEQ_CST))
		collector_has_work();
}

/* --- our thread */

/* Of those that nobody waits for any more. */
void events_close(void)
{
	close_events();
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
	look(!may_wait, may_wait ? OURS_NS : UINT64_MAX / 2);
	pthread_mutex_unlock(&library.no_fork);
	new = links_take_all(&events.pieces, &events.ended);
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
	return __atomic_load_n(&events.looking, __ATOMIC_SEQ_CST) || events.busy ||
	       events.unordered.first || kept.first ||
	       __atomic_load_n(&events.ended, __ATOMIC_SEQ_CST) ||
	       __atomic_load_n(&events.leaving, __ATOMIC_SEQ_CST) ||
	       __atomic_load_n(&events.incoming, __ATOMIC_SEQ_CST);
}
