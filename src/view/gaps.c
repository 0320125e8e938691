// SPDX-License-Identifier: MIT
#include "view/gaps.h"

#include <errno.h>
#include <stdlib.h>

#include "base/busy.h"
#include "base/error.h"
#include "base/map.h"
#include "view/launch_path.h"

#define SITE_GAPS_MIN  3
#define SITE_LONGER    10
#define WAKERS_MAX     4
#define SAMPLES_WANTED 4
#define SYNC_LATER_NS  1000000

static const struct {
	const char *name, *text;
} causes[GAP_CAUSES] = {
	[GAP_UNKNOWN] = {"unknown", "not known"},
	[GAP_QUEUED] = {"queued", "begin of work that was queued"},
	[GAP_INPUT] = {"input", "data loading or other input"},
	[GAP_CPU] = {"cpu", "no free CPU"},
	[GAP_SYNC] = {"synchronization", "synchronization"},
	[GAP_PYTHON] = {"python", "Python"},
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

static int short_of_memory(void)
{
	return error_set(-ENOMEM, "not enough memory for the gaps of GPUs");
}

void gaps_release(struct gaps *g)
{
	gap_events_release(&g->events);
	vec_release(&g->gaps);
	vec_release(&g->devices);
	vec_release(&g->processes);
	map_release(&g->users);
}

/* ------------------------------------------------------------------ the cause of one gap */

/* What the launching thread did up to the launch. */
struct doings {
	uint64_t input_ns, cpu_ns, call_ns, sync_ns;
	uint64_t longest_ns; /* wait */
	uint32_t longest_stack;
};

static bool is_for_input(unsigned int reason)
{
	return reason == WAIT_LOCK || reason == WAIT_IO || reason == WAIT_EVENTS || reason == WAIT_SLEEP ||
	       reason == WAIT_PROCESS || reason == WAIT_FAULT;
}

static uint64_t length(uint64_t from_ns, uint64_t until_ns)
{
	return until_ns > from_ns ? until_ns - from_ns : 0;
}

/* The thread whose doings count instead of a wait, as it launches GPU work, too; 0: none. */
static uint32_t leads_to(const struct gap_events *e, const struct gap_span *w, uint32_t before)
{
	uint32_t other = w->waker ? w->waker : w->reason == WAIT_LOCK ? before : 0;

	return other && other != w->thread && other < e->threads.count && e->threads.items[other].launches ? other : 0;
}

/* `before` is the last other thread of the process that launched work; 0: none. */
static void add_waits(const struct gap_events *e, uint32_t thread, uint32_t before, uint64_t from_ns, uint64_t until_ns,
	int depth, struct doings *d)
{
	size_t end = e->threads.items[thread].waits.end;

	for (size_t i = gap_events_wait(e, thread, from_ns); i < end && e->waits.items[i].start_ns < until_ns; i++) {
		const struct gap_span *w = &e->waits.items[i];
		uint64_t first = w->start_ns > from_ns ? w->start_ns : from_ns;
		uint64_t last = w->end_ns < until_ns ? w->end_ns : until_ns;

		if (w->reason == WAIT_RUN_QUEUE) {
			d->cpu_ns += length(first, last);
		} else if (is_for_input(w->reason) && depth < WAKERS_MAX && leads_to(e, w, before)) {
			add_waits(e, leads_to(e, w, before), 0, first, last, depth + 1, d);
		} else if (is_for_input(w->reason)) {
			d->input_ns += length(first, last);
			if (length(first, last) > d->longest_ns && w->stack) {
				d->longest_ns = length(first, last);
				d->longest_stack = w->stack;
			}
		}
	}
}

/* Waits in synchronizing calls are not for input. */
static void add_calls(const struct gap_events *e, uint32_t thread, uint32_t before, uint64_t from_ns, uint64_t until_ns,
	struct doings *d)
{
	size_t end = e->threads.items[thread].calls.end;
	uint64_t at_ns = from_ns;

	for (size_t i = gap_events_call(e, thread, from_ns); i < end && e->calls.items[i].start_ns < until_ns; i++) {
		const struct gap_span *c = &e->calls.items[i];
		uint64_t first = c->start_ns > from_ns ? c->start_ns : from_ns;
		uint64_t last = c->end_ns < until_ns ? c->end_ns : until_ns;

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

/* The last synchronizing call that the thread was in between two times; NULL: none. */
static const struct gap_span *last_sync(const struct gap_events *e, uint32_t thread, uint64_t from_ns, uint64_t until_ns)
{
	size_t end = e->threads.items[thread].calls.end;
	const struct gap_span *last = NULL;

	for (size_t i = gap_events_call(e, thread, from_ns); i < end && e->calls.items[i].start_ns < until_ns; i++)
		if (e->calls.items[i].is_sync)
			last = &e->calls.items[i];
	return last;
}

static bool is_python(const struct internals *in, uint32_t stack)
{
	for (uint32_t at = stack; at;) {
		const struct profile_stack_node *n = profile_stack_node(in->reader, at);
		const struct profile_location *l = n ? profile_location(in->reader, n->location) : NULL;

		if (!l)
			return false;
		if (l->kind != FRAME_KERNEL && !internals_hide(in, stack, at))
			return l->kind == FRAME_PYTHON;
		at = n->parent;
	}
	return false;
}

/* CPU samples: how many, how many of them of Python code, and the first of the majority. */
struct seen {
	uint64_t count, python, period_ns;
	uint32_t python_stack, native_stack;
};

static struct seen look(const struct gap_events *e, const struct internals *in, uint32_t thread, uint64_t from_ns,
	uint64_t until_ns)
{
	struct seen s = {0};
	size_t end = e->threads.items[thread].samples.end;

	for (size_t i = gap_events_sample(e, thread, from_ns); i < end && e->samples.items[i].time_ns < until_ns; i++) {
		const struct gap_sample *sample = &e->samples.items[i];
		bool python = is_python(in, sample->stack);

		s.count++;
		s.python += python;
		s.period_ns = sample->period_ns;
		if (python)
			s.python_stack = sample->stack;
		else
			s.native_stack = sample->stack;
	}
	return s;
}

/* Nothing is known of waits, but for that a thread that is never seen to run does not. */
static bool was_not_seen(const struct gap_events *e, const struct gap_work *w, const struct seen *s, uint64_t time_ns)
{
	const struct gap_range *samples = &e->threads.items[w->thread].samples;
	uint64_t period_ns = samples->end > samples->first ? e->samples.items[samples->first].period_ns : 0;

	return !e->has_waits && period_ns && s->count * 2 * period_ns < time_ns && time_ns / period_ns >= SAMPLES_WANTED;
}

/* *dry: the queue ran dry at this synchronizing call, and no work was queued since. */
static void find_cause(const struct gap_events *e, const struct internals *in, uint32_t before, struct gap *gap,
	const struct gap_span **dry)
{
	const struct gap_work *w = &e->works.items[gap->next];
	uint64_t until_ns = w->launch_ns < gap->end_ns ? w->launch_ns : gap->end_ns;
	uint64_t time_ns = length(gap->start_ns, until_ns);
	const struct gap_span *sync;
	struct doings d = {0};
	struct seen seen;

	gap->stack = w->stack;
	gap->cause = GAP_UNKNOWN;
	if (!w->thread || !w->launch_ns)
		return;
	gap->cause = GAP_QUEUED;
	if (!time_ns) {
		*dry = NULL;
		return;
	}
	sync = last_sync(e, w->thread, gap->start_ns, until_ns);
	if (sync)
		*dry = sync;
	add_calls(e, w->thread, before, gap->start_ns, until_ns, &d);
	seen = look(e, in, w->thread, gap->start_ns, until_ns);
	if (d.input_ns >= time_ns - time_ns / 2) {
		gap->cause = GAP_INPUT;
		gap->stack = d.longest_stack;
	} else if (d.cpu_ns >= time_ns - time_ns / 2) {
		gap->cause = GAP_CPU;
	} else if (*dry && time_ns - d.sync_ns <= SYNC_LATER_NS) {
		gap->cause = GAP_SYNC;
		gap->stack = (*dry)->stack;
	} else if (was_not_seen(e, w, &seen, time_ns)) {
		gap->cause = GAP_UNKNOWN;
	} else if (seen.python * 2 > seen.count && d.call_ns < time_ns - time_ns / 2) {
		gap->cause = GAP_PYTHON;
		gap->stack = seen.python_stack;
	} else {
		gap->cause = GAP_LAUNCH;
		if (seen.count >= SAMPLES_WANTED)
			gap->stack = seen.native_stack ? seen.native_stack : seen.python_stack;
	}
}

/* ------------------------------------------------------------------ all gaps of a device */

/* By process: the thread that launched last << 32 | another one that did before. Returns that which is not the work's. */
static int note_launch(struct map *last, const struct gap_work *w, uint32_t *ret_before)
{
	const uint64_t *known = map_get(last, w->process);
	uint64_t threads = known ? *known : 0;

	if (threads >> 32 != w->thread) {
		threads = (uint64_t)w->thread << 32 | threads >> 32;
		if (map_put(last, w->process, threads))
			return short_of_memory();
	}
	*ret_before = (uint32_t)threads;
	return 0;
}

static int add_gap(struct gaps *g, const struct gap *gap)
{
	return vec_push(&g->gaps, *gap) ? short_of_memory() : 0;
}

static int add_device(struct gaps *g, size_t first, size_t end, const struct internals *in)
{
	const struct gap_work *works = g->events.works.items;
	struct gap_device d = {.device = works[first].device, .first_ns = works[first].start_ns, .first = g->gaps.count};
	uint64_t at_ns = works[first].end_ns;
	const struct gap_span *dry = NULL;
	struct map last = MAP_INIT;
	uint32_t before;
	int error = note_launch(&last, &works[first], &before);

	for (size_t i = first + 1; !error && i < end; i++) {
		struct gap gap = {.start_ns = at_ns, .end_ns = works[i].start_ns, .next = i};

		error = note_launch(&last, &works[i], &before);
		if (gap.end_ns > gap.start_ns) {
			find_cause(&g->events, in, before, &gap, &dry);
			d.idle_ns += gap.end_ns - gap.start_ns;
			error = error ? error : add_gap(g, &gap);
		} else if (works[i].launch_ns && works[i].launch_ns < at_ns) {
			dry = NULL;
		}
		at_ns = works[i].end_ns > at_ns ? works[i].end_ns : at_ns;
	}
	map_release(&last);
	d.last_ns = at_ns;
	d.count = g->gaps.count - d.first;
	if (!error && vec_push(&g->devices, d))
		error = short_of_memory();
	return error;
}

static int order(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

struct site_gap {
	uint64_t site, length_ns;
	struct gap *gap;
};

static int by_site(const void *left, const void *right)
{
	const struct site_gap *a = left, *b = right;

	return a->site != b->site ? order(a->site, b->site) : order(a->length_ns, b->length_ns);
}

/* Which gaps are one of many: by what was launched after them, from where. */
static int tell_once(struct gaps *g, const struct gap_device *d, const uint32_t *merged)
{
	struct site_gap *sites = calloc(d->count + 1, sizeof(*sites));
	size_t first = 0;

	if (!sites)
		return short_of_memory();
	for (size_t i = 0; i < d->count; i++) {
		struct gap *gap = &g->gaps.items[d->first + i];
		const struct gap_work *w = &g->events.works.items[gap->next];

		sites[i] = (struct site_gap){w->stack ? merged[w->stack] : (uint64_t)1 << 32 | w->op,
			gap->end_ns - gap->start_ns, gap};
	}
	qsort(sites, d->count, sizeof(*sites), by_site);
	for (size_t i = 1; i <= d->count; i++) {
		uint64_t median_ns;

		if (i < d->count && sites[i].site == sites[first].site)
			continue;
		median_ns = sites[first + (i - first) / 2].length_ns;
		for (size_t k = first; k < i; k++)
			sites[k].gap->once = i - first < SITE_GAPS_MIN || sites[k].length_ns / SITE_LONGER > median_ns;
		first = i;
	}
	free(sites);
	return 0;
}

static int by_length(const void *left, const void *right)
{
	const struct gap *a = left, *b = right;
	int longer = order(b->end_ns - b->start_ns, a->end_ns - a->start_ns);

	return longer ? longer : order(a->start_ns, b->start_ns);
}

static int sum_up(struct gaps *g, struct gap_device *d, const uint32_t *merged)
{
	struct map sums = MAP_INIT;
	int error = 0;

	for (size_t i = 0; !error && i < d->count; i++) {
		const struct gap *gap = &g->gaps.items[d->first + i];
		struct gap_sum *sum = &(gap->once ? d->once : d->many)[gap->cause];
		uint32_t stack = gap->stack ? merged[gap->stack] : 0;
		uint64_t key = (uint64_t)stack << 8 | (uint64_t)gap->cause << 1 | gap->once, ns = gap->end_ns - gap->start_ns;
		const uint64_t *known = map_get(&sums, key);
		uint64_t total_ns = ns + (known ? *known : 0);

		sum->count++;
		sum->total_ns += ns;
		if (stack && total_ns > sum->stack_ns) {
			sum->stack_ns = total_ns;
			sum->stack = stack;
		}
		error = map_put(&sums, key, total_ns) ? short_of_memory() : 0;
	}
	map_release(&sums);
	if (d->count)
		qsort(&g->gaps.items[d->first], d->count, sizeof(struct gap), by_length);
	return error;
}

static int by_idle(const void *left, const void *right)
{
	const struct gap_device *a = left, *b = right;

	return a->idle_ns != b->idle_ns ? order(b->idle_ns, a->idle_ns) : order(a->device, b->device);
}

static int add_devices(struct gaps *g, const struct internals *in)
{
	size_t first = 0, count = g->events.works.count;
	uint32_t *merged = NULL;
	int error = count && launch_path_merge(in, &merged) ? short_of_memory() : 0;

	for (size_t i = 1; !error && i <= count; i++) {
		struct gap_device *d;

		if (i < count && g->events.works.items[i].device == g->events.works.items[first].device)
			continue;
		error = add_device(g, first, i, in);
		first = i;
		if (error)
			break;
		d = &g->devices.items[g->devices.count - 1];
		error = tell_once(g, d, merged);
		if (!error)
			error = sum_up(g, d, merged);
	}
	free(merged);
	if (g->devices.count)
		qsort(g->devices.items, g->devices.count, sizeof(*g->devices.items), by_idle);
	return error;
}

/* ------------------------------------------------------------------ processes */

static struct gap_process *find_process(struct gaps *g, uint32_t process)
{
	vec_foreach (p, &g->processes)
		if (p->process == process)
			return p;
	return vec_push(&g->processes, (struct gap_process){.process = process}) ? NULL :
	       &g->processes.items[g->processes.count - 1];
}

static int add_times(struct gaps *g, const struct profile_reader *r, struct gap_process *p)
{
	struct busy all = BUSY_INIT, kernels = BUSY_INIT;
	uint64_t first_ns = UINT64_MAX, last_ns = 0, all_ns = 0, uncertain_ns = 0;
	int error = 0;

	vec_foreach (w, &g->events.works) {
		if (w->process != p->process || error)
			continue;
		first_ns = w->start_ns < first_ns ? w->start_ns : first_ns;
		last_ns = w->end_ns > last_ns ? w->end_ns : last_ns;
		error = busy_add(&all, w->start_ns, w->end_ns);
		if (!error && profile_op(r, w->op)->kind == OP_KERNEL)
			error = busy_add(&kernels, w->start_ns, w->end_ns);
	}
	if (!error)
		error = busy_total(&all, &all_ns, &uncertain_ns);
	if (!error)
		error = busy_total(&kernels, &p->kernels_ns, &uncertain_ns);
	busy_release(&all);
	busy_release(&kernels);
	p->span_ns = length(first_ns, last_ns);
	p->transfers_ns = length(p->kernels_ns, all_ns);
	return error ? short_of_memory() : 0;
}

/* The process' idle time, in the proportions of the gaps before its work. */
static void share_out(struct gaps *g, struct gap_process *p)
{
	uint64_t causes_ns[GAP_CAUSES] = {0}, sum_ns = 0, once_ns = 0;
	uint64_t idle_ns = length(p->kernels_ns + p->transfers_ns, p->span_ns);

	vec_foreach (gap, &g->gaps)
		if (g->events.works.items[gap->next].process == p->process) {
			*(gap->once ? &once_ns : &causes_ns[gap->cause]) += gap->end_ns - gap->start_ns;
			sum_ns += gap->end_ns - gap->start_ns;
		}
	if (!sum_ns)
		return;
	p->once_ns = (uint64_t)((double)idle_ns * ((double)once_ns / (double)sum_ns) + 0.5);
	for (unsigned int i = 0; i < GAP_CAUSES; i++)
		p->causes_ns[i] = (uint64_t)((double)idle_ns * ((double)causes_ns[i] / (double)sum_ns) + 0.5);
}

static int by_span(const void *left, const void *right)
{
	const struct gap_process *a = left, *b = right;

	return a->span_ns != b->span_ns ? order(b->span_ns, a->span_ns) : order(a->process, b->process);
}

static int add_processes(struct gaps *g, const struct profile_reader *r)
{
	int error = 0;

	vec_foreach (w, &g->events.works)
		if (!find_process(g, w->process) || map_put(&g->users, (uint64_t)w->device << 32 | w->process, 1))
			return short_of_memory();
	vec_foreach (p, &g->processes) {
		error = error ? error : add_times(g, r, p);
		share_out(g, p);
	}
	if (g->processes.count)
		qsort(g->processes.items, g->processes.count, sizeof(*g->processes.items), by_span);
	return error;
}

bool gaps_concerns(const struct gaps *g, const struct profile_reader *r, uint32_t device, uint32_t thread)
{
	const struct profile_thread *t = profile_thread(r, thread);

	return t && t->process && map_get(&g->users, (uint64_t)device << 32 | t->process);
}

int gaps_read_within(struct gaps *g, const char *path, const struct internals *internals, size_t most)
{
	struct profile_reader *r;
	int error = profile_reader_open(&r, path);

	if (error)
		return error;
	error = gap_events_read(&g->events, r, most);
	if (!error)
		error = add_devices(g, internals);
	if (!error)
		error = add_processes(g, r);
	profile_reader_close(r);
	return error;
}

int gaps_read(struct gaps *g, const char *path, const struct internals *internals)
{
	return gaps_read_within(g, path, internals, GAP_EVENTS_MAX);
}
