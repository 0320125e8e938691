// SPDX-License-Identifier: MIT
/*
 * Why a sum of zero means that nobody is inside: a thread that begins a call counts itself first
 * and looks at the state then; who holds sets the state first and looks at the counters then. So
 * either the one sees that it is to wait, and takes its count back, or the other sees it counted.
 *
 * A handler of a signal may call the driver, for which CUPTI does not call back inside of a
 * callback. So signals are blocked while a thread waits and is not counted.
 */
#include "inject/cupti/inside.h"

#include <signal.h>

#include "inject/launches.h"
#include "inject/leave.h"

#define COLLECT_NS  20000000ull
#define HELD_MAX_NS 2000000000ull
#define POLL_NS	    50000

#define LINES	    16u
#define THREADS_MAX 4096u

/* The lowest bits of the state; the others count, so that no state comes twice. */
enum phase {
	FREE = 0,
	COLLECTING,
	HELD,
	PHASES = 4,
};

/* Many threads call at once: they count in different lines. */
static struct line {
	uint32_t inside;
} __attribute__((aligned(64))) lines[LINES];

static struct {
	void *context;
	uint32_t several;
	uint32_t count; /* of those that have begun a call; may be more than there is room for */
	uint32_t tids[THREADS_MAX];
} begun;

static __thread struct {
	uint32_t depth; /* of calls, the outermost of which is counted */
	uint32_t held;	/* the state of its own hold; 0: none */
	bool noted;
} me;

static uint32_t load(const uint32_t *word)
{
	return __atomic_load_n(word, __ATOMIC_SEQ_CST);
}

static bool change(uint32_t from, uint32_t to)
{
	return __atomic_compare_exchange_n(
		&library.guard->calls, &from, to, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

static enum phase phase_of(uint32_t state)
{
	return state % PHASES;
}

/* The state after this one, of another hold where that is over. */
static uint32_t next(uint32_t state, enum phase phase)
{
	return state - state % PHASES + phase + (phase == FREE ? PHASES : 0);
}

static uint64_t until_ns(void)
{
	return __atomic_load_n(&library.guard->calls_until_ns, __ATOMIC_SEQ_CST);
}

static void set_until(uint64_t ns)
{
	__atomic_store_n(&library.guard->calls_until_ns, ns, __ATOMIC_SEQ_CST);
}

static void pause_for(long ns)
{
	struct timespec pause = {.tv_nsec = ns};

	nanosleep(&pause, NULL);
}

static void end_hold(uint32_t state)
{
	if (change(state, next(state, FREE)))
		futex_wake(&library.guard->calls);
}

/* ---- threads that call ---- */

/* Stacks of threads, and with them these variables, are megabytes apart. */
static uint32_t *my_line(void)
{
	return &lines[((uintptr_t)&me >> 12) * 0x9e3779b1u >> 20 & (LINES - 1)].inside;
}

static void wait_while(uint32_t state)
{
	uint64_t now, until;

	while (load(&library.guard->calls) == state) {
		now = now_ns();
		until = until_ns();
		if (now >= until)
			end_hold(state);
		else
			futex_wait(&library.guard->calls, state, until - now);
	}
}

static void step_out(uint32_t *inside, uint32_t state)
{
	struct undisturbed u;
	sigset_t all, before;

	begin_slow(&u);
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	__atomic_fetch_sub(inside, 1, __ATOMIC_SEQ_CST);
	wait_while(state);
	__atomic_fetch_add(inside, 1, __ATOMIC_SEQ_CST);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	end_slow(&u);
}

static void count_in(void)
{
	uint32_t *inside = my_line(), state;

	__atomic_fetch_add(inside, 1, __ATOMIC_SEQ_CST);
	while (phase_of(state = load(&library.guard->calls)) != FREE)
		step_out(inside, state);
}

static void note_thread(void)
{
	uint32_t n = __atomic_fetch_add(&begun.count, 1, __ATOMIC_RELAXED);

	me.noted = true;
	if (n < THREADS_MAX)
		__atomic_store_n(&begun.tids[n], launching_thread_id(), __ATOMIC_RELEASE);
}

static void note_context(void *context)
{
	void *known = __atomic_load_n(&begun.context, __ATOMIC_RELAXED);

	if (!context || context == known)
		return;
	if ((known || !__atomic_compare_exchange_n(&begun.context, &known, context, false,
			      __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) &&
		known != context)
		__atomic_store_n(&begun.several, 1, __ATOMIC_SEQ_CST);
}

void inside_enter(void *context, bool begins)
{
	if (me.depth) {
		me.depth++;
		return;
	}
	if (me.held)
		return;
	if (begins && !me.noted)
		note_thread();
	note_context(context);
	count_in();
	me.depth = 1;
}

/* The call may have begun before callbacks were on. */
void inside_exit(void)
{
	if (me.depth && !--me.depth)
		__atomic_fetch_sub(my_line(), 1, __ATOMIC_SEQ_CST);
}

/* ---- who holds ---- */

static bool others_are_inside(void)
{
	uint32_t sum = 0;

	for (uint32_t n = 0; n < LINES; n++)
		sum += load(&lines[n].inside);
	return sum != (me.depth ? 1 : 0);
}

/* False: the hold was ended. */
static bool await_quiet(uint32_t state)
{
	while (load(&library.guard->calls) == state && now_ns() < until_ns()) {
		if (!others_are_inside())
			return true;
		pause_for(POLL_NS);
	}
	return false;
}

bool inside_hold(void)
{
	uint32_t state = load(&library.guard->calls), collecting = next(state, COLLECTING);

	if (phase_of(state) != FREE || me.held)
		return false;
	set_until(now_ns() + COLLECT_NS);
	if (!change(state, collecting))
		return false;
	/* Who has counted itself out is on its last instructions in the callback, and in the
	 * driver. */
	if (await_quiet(collecting) && leave_await_threads(until_ns()) && !others_are_inside()) {
		set_until(now_ns() + HELD_MAX_NS);
		if (change(collecting, next(collecting, HELD))) {
			me.held = next(collecting, HELD);
			return true;
		}
	}
	end_hold(collecting);
	return false;
}

bool inside_is_held(void)
{
	return me.held && load(&library.guard->calls) == me.held && now_ns() < until_ns();
}

void inside_release(void)
{
	uint32_t state = me.held;

	me.held = 0;
	end_hold(state);
}

void inside_begin(void)
{
	__atomic_store_n(&library.guard->calls_counted, 1, __ATOMIC_SEQ_CST);
}

void inside_end(void)
{
	__atomic_store_n(&library.guard->calls_counted, 0, __ATOMIC_SEQ_CST);
}

/* ---- what is known of the program ---- */

void *inside_context(bool *ret_several)
{
	*ret_several = load(&begun.several);
	return *ret_several ? NULL : __atomic_load_n(&begun.context, __ATOMIC_SEQ_CST);
}

void inside_context_ends(void *context)
{
	__atomic_compare_exchange_n(
		&begun.context, &context, NULL, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

void inside_contexts_end(void)
{
	__atomic_store_n(&begun.context, NULL, __ATOMIC_SEQ_CST);
}

bool inside_has_begun(pid_t tid)
{
	uint32_t count = load(&begun.count);

	for (uint32_t n = 0; n < count && n < THREADS_MAX; n++)
		if (__atomic_load_n(&begun.tids[n], __ATOMIC_ACQUIRE) == (uint32_t)tid)
			return true;
	return false;
}
