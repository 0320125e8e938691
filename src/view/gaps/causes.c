// SPDX-License-Identifier: MIT
#include "view/gaps/causes.h"

#include "base/histogram.h"

#define WAKERS_MAX     4
#define SAMPLES_WANTED 4
#define SYNC_LATER_NS  50000

static const struct {
	const char *name, *text;
} causes[GAP_CAUSES] = {
	[GAP_UNKNOWN] = {"unknown", "not known"},
	[GAP_QUEUED] = {"queued", "between work that was queued"},
	[GAP_INPUT] = {"input", "data loading or other input"},
	[GAP_CPU] = {"cpu", "no free CPU"},
	[GAP_SYNC] = {"synchronization", "synchronization"},
	[GAP_PYTHON] = {"python", "Python"},
	[GAP_WORK] = {"cpu_work", "other CPU work"},
	[GAP_LAUNCH] = {"launch_rate", "launch rate"},
};

const char *gap_cause_name(unsigned int cause)
{
	return causes[cause < GAP_CAUSES ? cause : GAP_UNKNOWN].name;
}

const char *gap_cause_text(unsigned int cause)
{
	return causes[cause < GAP_CAUSES ? cause : GAP_UNKNOWN].text;
}

/* ---------------------------------------------------------------- what the launching thread did */

/* What the launching thread did up to the launch. */
struct doings {
	uint64_t input_ns, cpu_ns, call_ns, sync_ns;
	uint64_t longest_ns; /* wait */
	uint32_t longest_stack;
};

static bool is_for_input(unsigned int reason)
{
	return reason == WAIT_LOCK || reason == WAIT_IO || reason == WAIT_EVENTS ||
	       reason == WAIT_SLEEP || reason == WAIT_PROCESS || reason == WAIT_FAULT;
}

static uint64_t length(uint64_t from_ns, uint64_t until_ns)
{
	return until_ns > from_ns ? until_ns - from_ns : 0;
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* The thread whose doings count instead of a wait, as it launches GPU work, too; 0: none. */
static uint32_t leads_to(const struct gap_events *e, const struct gap_wait *w, uint32_t before)
{
	uint32_t other = w->waker ? w->waker : w->reason == WAIT_LOCK ? before : 0;

	return other && other != w->span.thread && other < e->threads.count &&
			       e->threads.items[other].launches
		       ? other
		       : 0;
}

/* `before` is the last other thread of the process that launched work; 0: none. */
static void add_waits(const struct gap_events *e, uint32_t thread, uint32_t before,
	uint64_t from_ns, uint64_t until_ns, int depth, struct doings *d)
{
	size_t end = e->threads.items[thread].waits.end;

	for (size_t i = gap_events_wait(e, thread, from_ns);
		i < end && e->waits.items[i].span.start_ns < until_ns; i++) {
		const struct gap_wait *w = &e->waits.items[i];
		uint64_t first = later(w->span.start_ns, from_ns),
			 last = earlier(w->queued_from_ns, until_ns);

		d->cpu_ns += length(
			later(w->queued_from_ns, from_ns), earlier(w->span.end_ns, until_ns));
		if (w->reason == WAIT_RUN_QUEUE) {
			d->cpu_ns += length(first, last);
		} else if (is_for_input(w->reason) && last > first && depth < WAKERS_MAX &&
			   leads_to(e, w, before)) {
			add_waits(e, leads_to(e, w, before), 0, first, last, depth + 1, d);
		} else if (is_for_input(w->reason)) {
			d->input_ns += length(first, last);
			if (length(first, last) > d->longest_ns && w->span.stack) {
				d->longest_ns = length(first, last);
				d->longest_stack = w->span.stack;
			}
		}
	}
}

/* Waits in synchronizing calls are not for input. */
static void add_calls(const struct gap_events *e, uint32_t thread, uint32_t before,
	uint64_t from_ns, uint64_t until_ns, struct doings *d)
{
	size_t end = e->threads.items[thread].calls.end;
	uint64_t at_ns = from_ns;

	for (size_t i = gap_events_call(e, thread, from_ns);
		i < end && e->calls.items[i].span.start_ns < until_ns; i++) {
		const struct gap_call *c = &e->calls.items[i];
		uint64_t first = later(c->span.start_ns, from_ns),
			 last = earlier(c->span.end_ns, until_ns);

		if (!c->is_sync) {
			d->call_ns += length(first, last);
			continue;
		}
		d->sync_ns += length(first, last);
		add_waits(e, thread, before, at_ns, first, 0, d);
		at_ns = last;
	}
	add_waits(e, thread, before, at_ns, until_ns, 0, d);
}

/* The synchronizing call that the thread was in when the gap began: the last between two times that
 * began before that, or else the first; NULL: none. */
static const struct gap_call *find_sync(const struct gap_events *e, uint32_t thread,
	uint64_t from_ns, uint64_t until_ns, uint64_t gap_ns)
{
	size_t end = e->threads.items[thread].calls.end;
	const struct gap_call *found = NULL;

	for (size_t i = gap_events_call(e, thread, from_ns);
		i < end && e->calls.items[i].span.start_ns < until_ns; i++)
		if (e->calls.items[i].is_sync &&
			(!found || e->calls.items[i].span.start_ns < gap_ns))
			found = &e->calls.items[i];
	return found;
}

/* Where waits were not recorded: whether the thread has so few samples that it cannot have run. */
static bool was_not_seen(const struct gap_events *e, const struct gap_work *w,
	const struct gap_seen *s, uint64_t time_ns)
{
	uint64_t period_ns = e->threads.items[w->thread].period_ns;

	return !e->has_waits && period_ns && s->count * 2 * period_ns < time_ns &&
	       time_ns / period_ns >= SAMPLES_WANTED;
}

/* ------------------------------------------------------------------ latency */

uint64_t gap_latency(const struct gap_work *works, size_t count)
{
	struct histogram latencies = {0};
	uint64_t at_ns = count ? works->end_ns : 0;

	for (size_t i = 1; i < count; i++) {
		const struct gap_work *w = &works[i];

		if (w->start_ns > at_ns && w->launch_ns && !w->graph &&
			w->launch_ns <= w->start_ns &&
			w->start_ns - w->launch_ns <= GAP_LATENCY_MAX_NS)
			histogram_add(&latencies, w->start_ns - w->launch_ns);
		at_ns = later(at_ns, w->end_ns);
	}
	return histogram_percentile(&latencies, 25);
}

static bool was_in_time(uint64_t start_ns, const struct gap_work *next, uint64_t latency_ns)
{
	return next->launch_ns && next->launch_ns <= start_ns &&
	       start_ns - next->launch_ns >= latency_ns;
}

bool gap_needs_threads(uint64_t start_ns, const struct gap_work *next, uint64_t latency_ns)
{
	return length(start_ns, next->start_ns) > GAP_LATENCY_MAX_NS ||
	       !was_in_time(start_ns, next, latency_ns);
}

/* When the launching call was over, if it was before the work began; else when it began. */
static uint64_t launched_ns(const struct gap_events *e, const struct gap_work *w)
{
	size_t at = gap_events_call(e, w->thread, w->launch_ns);
	const struct gap_call *c =
		at < e->threads.items[w->thread].calls.end ? &e->calls.items[at] : NULL;

	return c && c->span.start_ns <= w->launch_ns && c->span.end_ns <= w->start_ns
		       ? c->span.end_ns
		       : w->launch_ns;
}

/* ------------------------------------------------------------------ the rules */

/* The time in which the next work should have been launched. */
struct look {
	uint64_t from_ns, until_ns, time_ns;
	struct doings doings;
	struct gap_seen seen;
};

/* Whether the gap is the queue's that ran dry in a synchronizing call, now or before. */
static bool is_for_sync(
	struct gap_search *s, const struct gap *gap, const struct gap_work *w, const struct look *l)
{
	const struct gap_call *sync =
		find_sync(s->events, w->thread, l->from_ns, l->until_ns, gap->start_ns);
	bool began = sync && sync != s->dry &&
		     (sync->span.start_ns < gap->start_ns ||
			     l->doings.sync_ns >= l->time_ns - l->time_ns / 2);

	if (!began)
		return s->dry && s->lead_ns >= (gap->end_ns - gap->start_ns) / 2 && s->lead_ns;
	s->dry = sync;
	s->lead_ns = sync->span.end_ns - sync->span.start_ns;
	return l->time_ns - l->doings.sync_ns <= later(s->lead_ns, SYNC_LATER_NS);
}

/* In none of its calls, and not asleep. */
static uint64_t own_ns(const struct look *l)
{
	const struct doings *d = &l->doings;

	return length(d->input_ns + d->cpu_ns + d->call_ns + d->sync_ns, l->time_ns);
}

/* The most frequent activity in its samples. */
static enum gap_cause cause_of_samples(struct gap *gap, const struct look *l)
{
	static const uint8_t causes_of[ACTIVITIES] = {[ACTIVITY_INPUT] = GAP_INPUT,
		[ACTIVITY_PYTHON] = GAP_PYTHON,
		[ACTIVITY_CALLED] = GAP_PYTHON,
		[ACTIVITY_NATIVE] = GAP_WORK,
		[ACTIVITY_LAUNCH] = GAP_LAUNCH};
	unsigned int best = ACTIVITY_LAUNCH;

	for (unsigned int i = ACTIVITIES; i-- > 0;)
		if (l->seen.of[i] >= l->seen.of[best])
			best = i;
	if (best == ACTIVITY_LAUNCH || (best >= ACTIVITY_CALLED && own_ns(l) <= GAP_LAUNCH_MAX_NS))
		return GAP_LAUNCH;
	gap->stack = l->seen.stacks[best];
	return causes_of[best];
}

/* That of a thread that ran. */
static enum gap_cause cause_of_running(
	struct gap_search *s, struct gap *gap, const struct gap_work *w, const struct look *l)
{
	if (was_not_seen(s->events, w, &l->seen, l->time_ns))
		return GAP_UNKNOWN;
	if (l->doings.call_ns >= l->time_ns - l->time_ns / 2)
		return GAP_LAUNCH;
	gap->samples = (uint8_t)earlier(l->seen.count, UINT8_MAX);
	if (gap->samples)
		return cause_of_samples(gap, l);
	gap->unexplained = own_ns(l) > GAP_LAUNCH_MAX_NS;
	return gap->unexplained ? GAP_UNKNOWN : GAP_LAUNCH;
}

static enum gap_cause cause_of(
	struct gap_search *s, struct gap *gap, const struct gap_work *w, const struct look *l)
{
	const struct doings *d = &l->doings;
	uint64_t half_ns = l->time_ns - l->time_ns / 2;
	bool for_sync = is_for_sync(s, gap, w, l);

	if (d->input_ns >= half_ns) {
		gap->stack = d->longest_stack;
		return GAP_INPUT;
	}
	if (d->cpu_ns >= half_ns)
		return GAP_CPU;
	if (for_sync) {
		gap->stack = s->dry->span.stack;
		return GAP_SYNC;
	}
	return cause_of_running(s, gap, w, l);
}

void gap_find_cause(struct gap_search *s, uint32_t before, struct gap *gap)
{
	const struct gap_work *w = &s->events->works.items[gap->next];
	uint64_t done_ns;
	struct look l = {.from_ns = length(s->latency_ns, gap->start_ns)};

	gap->stack = w->stack;
	gap->cause = GAP_UNKNOWN;
	if (!w->thread || !w->launch_ns)
		return;
	done_ns = launched_ns(s->events, w);
	if (was_in_time(gap->start_ns, w, s->latency_ns) && done_ns <= gap->start_ns) {
		gap->cause = GAP_QUEUED;
		gap_search_queued(s);
		return;
	}
	l.until_ns = earlier(w->launch_ns > l.from_ns ? w->launch_ns : done_ns, gap->end_ns);
	l.time_ns = length(l.from_ns, l.until_ns);
	add_calls(s->events, w->thread, before, l.from_ns, l.until_ns, &l.doings);
	l.seen = gap_samples_look(s->stacks, s->events, w->thread, w->stack, l.from_ns, l.until_ns);
	gap->cause = (uint8_t)cause_of(s, gap, w, &l);
	s->lead_ns -= earlier(s->lead_ns, gap->end_ns - gap->start_ns);
}

void gap_search_queued(struct gap_search *s)
{
	s->dry = NULL;
	s->lead_ns = 0;
}
