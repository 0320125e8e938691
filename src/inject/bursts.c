// SPDX-License-Identifier: MIT
#include "inject/bursts.h"

#include <time.h>

#include "inject/apis.h"
#include "inject/asked.h"

#define BURST_NS      20000000ull /* how long one is */
#define BURST_MIN_NS  1000000ull
#define TIMING_NS     2000000ull
#define PERIOD_NS     1000000000ull /* the first one's length */
#define PERIOD_MAX_NS 4000000000ull /* then bursts become shorter */
#define LAST_RESORT   15	    /* and then periods so many times as long, or we give up */
#define SHARE_MAX     4		    /* a period has so many bursts' length at least */

/* What is not seen from inside, as measured (docs/running-programs.md). */
#define CALLBACKS_NS 500   /* the API's part of callbacks, of a call */
#define CALL_NS	     4000  /* of a call, until it was measured */
#define WORK_NS	     400   /* that a GPU takes longer for a piece of work that is recorded */
#define CALL_LONG_NS 50000 /* calls that wait for something say nothing about costs */
#define CALLS_ENOUGH 200

/* How long a burst waits at its end for calls that have begun in it. */
#define CALLS_PATIENCE_NS 5000000ull
#define CALLS_PAUSE_NS	  50000
/* And for graphs that were launched in it. */
#define GRAPHS_PATIENCE_NS 200000000ull
#define GRAPHS_PAUSE_NS	   2000000
#define QUIET_LOOKS	   2 /* all have begun to end, and nothing more came since */

enum burst_state {
	BURST_NONE = 0,
	BURST_TIMING,
	BURST_OPEN,
	BURST_CLOSING, /* nothing more is asked for; graphs that were launched still run */
	BURST_ENDED,   /* there will be no more */
};

/* How long calls took: counted by many threads. */
struct call_times {
	uint64_t calls, ns;
} __attribute__((aligned(64)));

static struct {
	enum burst_state state;
	uint64_t begin_ns, begin_cpu_ns;
	uint64_t since_ns, until_ns;   /* the period */
	uint64_t planned_ns, start_ns; /* the burst: when it is to begin, when it did */
	uint64_t length_ns;	       /* how long it is to be */
	uint64_t end_ns, look_ns;      /* when it ended; when to look again whether graphs have */
	uint64_t graphs_done;	       /* of those that were launched in it */
	uint64_t graph_works;	       /* of these graphs */
	unsigned int quiet_looks;
	/* since a burst ended last: works, also those of earlier ones, and what switching took */
	uint64_t works, switches_ns;
	uint64_t counted_calls; /* of times[true], those of bursts before */
	uint64_t spent_ns;	/* without our thread's CPU time */
	uint64_t burst_cost_ns; /* what bursts of this length cost, lately */
	uint64_t random;
	struct call_times times[2]; /* by `recorded` */
} governor;

volatile uint64_t bursts_patience_ns = LAST_RESORT * PERIOD_MAX_NS;
int32_t bursts_open_calls __attribute__((aligned(64)));
static uint64_t graphs_launched; /* in the burst: counted by many threads */

void bursts_time_call(bool recorded, uint64_t duration_ns)
{
	struct call_times *t = &governor.times[recorded];

	/* Those that wait are counted, with no time: they cost as much as others. */
	if (duration_ns <= CALL_LONG_NS)
		__atomic_fetch_add(&t->ns, duration_ns, __ATOMIC_RELAXED);
	__atomic_fetch_add(&t->calls, 1, __ATOMIC_RELAXED);
}

void bursts_count_work(void)
{
	governor.works++;
}

void bursts_graph_launched(void)
{
	__atomic_fetch_add(&graphs_launched, 1, __ATOMIC_RELEASE);
}

void bursts_graph_worked(uint32_t correlation)
{
	if (!asked_is_of_latest(correlation))
		return;
	governor.graphs_done += asked_is_first_done(correlation);
	governor.graph_works++;
}

static uint64_t calls_timed(bool recorded)
{
	return __atomic_load_n(&governor.times[recorded].calls, __ATOMIC_RELAXED);
}

static uint64_t mean_call_ns(bool recorded)
{
	uint64_t ns = __atomic_load_n(&governor.times[recorded].ns, __ATOMIC_RELAXED);

	return ns / calls_timed(recorded);
}

/* What a call costs more while it is recorded. */
static uint64_t call_cost_ns(void)
{
	uint64_t with, without;

	if (calls_timed(false) < CALLS_ENOUGH || calls_timed(true) < CALLS_ENOUGH)
		return CALL_NS;
	with = mean_call_ns(true);
	without = mean_call_ns(false);
	return CALLBACKS_NS + (with > without ? with - without : 0);
}

static uint64_t thread_cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static uint64_t part(uint64_t ns, uint64_t millionths)
{
	return (uint64_t)((unsigned __int128)ns * millionths / 1000000);
}

/* xorshift: nobody has to be unable to guess it. */
static uint64_t random_below(uint64_t limit)
{
	uint64_t x = governor.random;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	governor.random = x;
	return limit ? x % limit : 0;
}

static void plan(uint64_t since_ns, uint64_t period_ns)
{
	uint64_t room_ns = period_ns - governor.length_ns;

	governor.since_ns = since_ns;
	governor.until_ns = since_ns + period_ns;
	governor.planned_ns = since_ns + random_below(room_ns);
}

void bursts_begin(void)
{
	if (!library.overhead)
		return;
	governor.begin_ns = now_ns();
	governor.begin_cpu_ns = thread_cpu_ns();
	governor.random = (governor.begin_ns ^ (uint64_t)library.pid << 32) | 1;
	/* As if programs took half as long again while they are recorded: few do. */
	governor.length_ns = part(2 * PERIOD_NS, library.overhead);
	if (governor.length_ns > BURST_NS)
		governor.length_ns = BURST_NS;
	if (governor.length_ns < BURST_MIN_NS)
		governor.length_ns = BURST_MIN_NS;
	plan(governor.begin_ns, PERIOD_NS);
}

static void follow(enum inject_follow what)
{
	uint64_t before_ns = now_ns();

	apis_follow(what);
	governor.switches_ns += now_ns() - before_ns;
}

static void begin_timing(void)
{
	governor.state = BURST_TIMING;
	__atomic_store_n(&library.guard->timing, 1, __ATOMIC_SEQ_CST);
	follow(FOLLOW_CALLS);
}

static void open_burst(void)
{
	asked_begin();
	governor.state = BURST_OPEN;
	governor.graphs_done = governor.graph_works = 0;
	governor.quiet_looks = 0;
	__atomic_store_n(&graphs_launched, 0, __ATOMIC_RELAXED);
	follow(FOLLOW_WORK);
	__atomic_store_n(&library.guard->timing, 0, __ATOMIC_SEQ_CST);
	governor.start_ns = now_ns();
	__atomic_store_n(&library.guard->recording, 1, __ATOMIC_SEQ_CST);
}

/* Those that wait for the GPU may take longer than we do. */
static void await_open_calls(void)
{
	struct timespec pause = {.tv_nsec = CALLS_PAUSE_NS};
	uint64_t until_ns = now_ns() + CALLS_PATIENCE_NS;

	while (__atomic_load_n(&bursts_open_calls, __ATOMIC_ACQUIRE) > 0 && now_ns() < until_ns)
		nanosleep(&pause, NULL);
}

/* From now on nothing is asked for. */
static void begin_closing(void)
{
	governor.end_ns = governor.look_ns = now_ns();
	__atomic_store_n(&library.guard->recording, 0, __ATOMIC_SEQ_CST);
	await_open_calls();
	/* some threads may never come back from a call */
	__atomic_store_n(&bursts_open_calls, 0, __ATOMIC_RELAXED);
	governor.state = BURST_CLOSING;
}

static bool all_graphs_are_done(void)
{
	return governor.graphs_done >= __atomic_load_n(&graphs_launched, __ATOMIC_ACQUIRE);
}

/*
 * Work that was asked for is reported when it has ended, also when records are switched off
 * meanwhile. But where a graph waits to run then, and is launched again without records, its work
 * gets the end times of later runs. So they go off when all graphs of the burst have
 * run; those that are launched meanwhile count for nothing.
 */
static bool graphs_have_run(uint64_t now)
{
	uint64_t before = governor.graph_works;

	if (!__atomic_load_n(&graphs_launched, __ATOMIC_ACQUIRE) ||
		now - governor.end_ns > GRAPHS_PATIENCE_NS)
		return true;
	apis_flush();
	apis_drain();
	governor.look_ns = now_ns() + GRAPHS_PAUSE_NS;
	governor.quiet_looks = all_graphs_are_done() && governor.graph_works == before
				       ? governor.quiet_looks + 1
				       : 0;
	return governor.quiet_looks >= QUIET_LOOKS;
}

static void close_burst(void)
{
	follow(FOLLOW_NOTHING);
	governor.state = BURST_NONE;
}

static void report(uint64_t since_ns, uint64_t until_ns, uint64_t start_ns, uint64_t end_ns)
{
	struct wire_burst record = {.type = WIRE_BURST,
		.since_ns = since_ns,
		.until_ns = until_ns,
		.start_ns = start_ns,
		.end_ns = end_ns};

	send_slot(&record);
}

/* Of each two numbers, the older counts less. */
static void note_cost(uint64_t cost_ns)
{
	governor.spent_ns += cost_ns;
	governor.burst_cost_ns =
		governor.burst_cost_ns ? (3 * governor.burst_cost_ns + cost_ns) / 4 : cost_ns;
}

static uint64_t take_cost_ns(void)
{
	uint64_t calls = calls_timed(true) - governor.counted_calls;
	uint64_t cost_ns = calls * call_cost_ns() + governor.works * WORK_NS + governor.switches_ns;

	governor.counted_calls += calls;
	governor.works = governor.switches_ns = 0;
	return cost_ns;
}

static void change_length(uint64_t length_ns)
{
	governor.burst_cost_ns = (uint64_t)((unsigned __int128)governor.burst_cost_ns * length_ns /
					    governor.length_ns);
	governor.length_ns = length_ns;
}

/*
 * The shortest period that pays for a burst with what our thread leaves of the budget. What was
 * spent too much, in all, is saved in a few periods. UINT64_MAX: none does.
 */
static uint64_t period_for_a_burst(uint64_t now)
{
	uint64_t elapsed_ns = now - governor.begin_ns;
	uint64_t own_ns = thread_cpu_ns() - governor.begin_cpu_ns;
	uint64_t allowed_ns = part(elapsed_ns, library.overhead);
	uint64_t spent_ns = governor.spent_ns + own_ns, over_ns = 0, left;

	/* our own time, in millionths of all */
	own_ns = (uint64_t)((unsigned __int128)own_ns * 1000000 / (elapsed_ns + 1));
	if (own_ns >= library.overhead)
		return UINT64_MAX;
	left = library.overhead - own_ns;
	if (spent_ns > allowed_ns)
		over_ns = (spent_ns - allowed_ns) / 4;
	return (uint64_t)((unsigned __int128)(governor.burst_cost_ns + over_ns) * 1000000 / left);
}

/* False: the budget cannot be held. In the first seconds nothing is known yet. */
static bool plan_next(uint64_t now)
{
	uint64_t period_ns = period_for_a_burst(now);

	if (period_ns > PERIOD_MAX_NS && governor.length_ns > BURST_MIN_NS)
		change_length(governor.length_ns / 2 > BURST_MIN_NS ? governor.length_ns / 2
								    : BURST_MIN_NS);
	else if (period_ns < PERIOD_MAX_NS / 4 && governor.length_ns < BURST_NS)
		change_length(
			2 * governor.length_ns < BURST_NS ? 2 * governor.length_ns : BURST_NS);
	period_ns = period_for_a_burst(now);
	if (period_ns > LAST_RESORT * PERIOD_MAX_NS) {
		if (now - governor.begin_ns > bursts_patience_ns)
			return false;
		period_ns = PERIOD_MAX_NS;
	}
	if (period_ns < SHARE_MAX * governor.length_ns)
		period_ns = SHARE_MAX * governor.length_ns;
	/* never in step with anything */
	plan(governor.until_ns, period_ns + random_below(period_ns / 4));
	return true;
}

/* When our thread comes late, the period has lasted until then. */
static void end_period(uint64_t now)
{
	if (now > governor.until_ns)
		governor.until_ns = now;
	report(governor.since_ns, governor.until_ns, governor.start_ns, governor.end_ns);
	governor.since_ns = governor.until_ns;
	note_cost(take_cost_ns());
}

static uint64_t next_ns(void)
{
	switch (governor.state) {
	case BURST_NONE:
		return governor.planned_ns > TIMING_NS ? governor.planned_ns - TIMING_NS : 0;
	case BURST_TIMING:
		return governor.planned_ns;
	case BURST_OPEN:
		return governor.start_ns + governor.length_ns;
	case BURST_CLOSING:
		return governor.look_ns;
	case BURST_ENDED:
		break;
	}
	return UINT64_MAX;
}

bool bursts_round(void)
{
	uint64_t now;

	if (!library.overhead || now_ns() < next_ns())
		return true;
	switch (governor.state) {
	case BURST_NONE:
		begin_timing();
		break;
	case BURST_TIMING:
		open_burst();
		break;
	case BURST_OPEN:
		begin_closing();
		break;
	case BURST_CLOSING:
		now = now_ns();
		if (!graphs_have_run(now))
			break;
		close_burst();
		end_period(now);
		return plan_next(now);
	case BURST_ENDED:
		break;
	}
	return true;
}

uint64_t bursts_sleep_ns(uint64_t timeout_ns)
{
	uint64_t now, due_ns;

	if (!library.overhead)
		return timeout_ns;
	now = now_ns();
	due_ns = next_ns();
	if (due_ns <= now)
		return 1;
	return due_ns - now < timeout_ns ? due_ns - now : timeout_ns;
}

/* A burst that is cut short stands for a part of its period that is as much shorter. */
static void report_cut(uint64_t now)
{
	uint64_t period_ns = governor.until_ns - governor.since_ns, since_ns;
	uint64_t stands_for_ns = (uint64_t)((unsigned __int128)(now - governor.start_ns) *
					    period_ns / governor.length_ns);

	since_ns =
		now - governor.since_ns > stands_for_ns ? now - stands_for_ns : governor.since_ns;
	if (since_ns > governor.start_ns)
		since_ns = governor.start_ns;
	report(governor.since_ns, since_ns, since_ns, since_ns);
	report(since_ns, now, governor.start_ns, now);
}

/* When the graphs of the last burst have run. */
static void close_last(void)
{
	struct timespec pause = {.tv_nsec = GRAPHS_PAUSE_NS};

	while (!graphs_have_run(now_ns()))
		nanosleep(&pause, NULL);
	close_burst();
}

static void end_last_period(uint64_t now)
{
	bool is_cut = governor.state == BURST_OPEN;

	if (is_cut)
		begin_closing();
	if (governor.state != BURST_CLOSING) {
		report(governor.since_ns < now ? governor.since_ns : now, now, now, now);
		return;
	}
	close_last();
	if (is_cut)
		report_cut(governor.end_ns);
	else
		report(governor.since_ns, now, governor.start_ns, governor.end_ns);
}

void bursts_end(void)
{
	if (!library.overhead || governor.state == BURST_ENDED)
		return;
	__atomic_store_n(&library.guard->timing, 0, __ATOMIC_SEQ_CST);
	end_last_period(now_ns());
	__atomic_store_n(&library.guard->recording, 0, __ATOMIC_SEQ_CST);
	governor.state = BURST_ENDED;
}
