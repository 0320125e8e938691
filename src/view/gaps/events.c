// SPDX-License-Identifier: MIT
/*
 * Events are kept if a window overlaps them. Calls of copies are kept until their work comes, which
 * shows whether the call waited for it.
 *
 * Waits of one thread do not overlap, nor do its calls. In damaged recordings they may: the later
 * one is cut, so that both starts and ends of a list rise and can be searched.
 */
#include "view/gaps/events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/large.h"
#include "base/search.h"
#include "view/gaps/nearly_sorted.h"
#include "view/waits/gpu_waits.h"

#define SUBJECT "the gaps of GPUs"

void gap_events_release(struct gap_events *e)
{
	vec_release(&e->works);
	vec_release(&e->windows);
	vec_release(&e->waits);
	vec_release(&e->calls);
	vec_release(&e->syncs);
	vec_release(&e->samples);
	vec_release(&e->threads);
	map_release(&e->copies);
	*e = (struct gap_events){0};
}

static uint64_t end_of(uint64_t start_ns, uint64_t duration_ns)
{
	return duration_ns < UINT64_MAX - start_ns ? start_ns + duration_ns : UINT64_MAX;
}

static int get_thread(struct gap_events *e, uint32_t id, struct gap_life **ret)
{
	while (e->threads.count <= id)
		if (vec_push(&e->threads, (struct gap_life){0}))
			return error_memory(SUBJECT);
	*ret = &e->threads.items[id];
	return 0;
}

/* ------------------------------------------------------------------ parts */

struct gap_parts gap_parts_of(uint64_t start_ns, uint64_t end_ns, uint64_t events, size_t most)
{
	struct gap_parts p = {.start_ns = start_ns};
	uint64_t period_ns = end_ns > start_ns ? (end_ns - start_ns) / GAP_PARTS_COUNT + 1 : 0;

	if (events <= most || !period_ns)
		return p;
	p.period_ns = period_ns;
	p.length_ns = (uint64_t)((double)period_ns * ((double)most / (double)events));
	return p;
}

int gap_part(const struct gap_parts *p, uint64_t time_ns)
{
	uint64_t since_ns = time_ns - p->start_ns;

	if (!p->period_ns)
		return 0;
	if (time_ns < p->start_ns || since_ns / p->period_ns >= GAP_PARTS_COUNT)
		return -1;
	return since_ns % p->period_ns < p->length_ns ? (int)(since_ns / p->period_ns) : -1;
}

uint64_t gap_part_end(const struct gap_parts *p, uint64_t time_ns)
{
	uint64_t n = p->period_ns ? (time_ns - p->start_ns) / p->period_ns + 1 : 0, end_ns;

	if (!n || __builtin_mul_overflow(n, p->period_ns, &end_ns) ||
		__builtin_add_overflow(end_ns, p->start_ns, &end_ns))
		return 0;
	return end_ns;
}

bool gap_parts_overlap(const struct gap_parts *p, uint64_t first_ns, uint64_t last_ns)
{
	uint64_t next;

	if (first_ns > last_ns || !p->period_ns)
		return first_ns <= last_ns;
	if (gap_part(p, first_ns) >= 0)
		return true;
	next = first_ns < p->start_ns ? 0 : (first_ns - p->start_ns) / p->period_ns + 1;
	return next < GAP_PARTS_COUNT && p->length_ns &&
	       last_ns >= p->start_ns + next * p->period_ns;
}

/* Whether what happened at this time has to be left out. */
static bool is_full(struct gap_events *e, uint64_t time_ns)
{
	if (e->works.count + e->waits.count + e->calls.count + e->syncs.count + e->samples.count <
		e->most)
		return false;
	if (!e->cut_ns || time_ns < e->cut_ns)
		e->cut_ns = time_ns;
	return true;
}

static int order(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

/* ------------------------------------------------------------------ the first reading: GPU work */

/* Work that took no time at all has no times: when the GPU was idle does not follow from it. */
static int add_work(
	struct gap_events *e, const struct profile_reader *r, const struct profile_work *w)
{
	const struct profile_op *op = profile_op(r, w->op);
	struct gap_work work = {.start_ns = w->start_ns,
		.end_ns = end_of(w->start_ns, w->duration_ns),
		.launch_ns = w->launch_ns,
		.thread = w->thread,
		.stack = w->stack,
		.op = w->op,
		.graph = w->graph_node != 0};
	struct gap_life *t;
	int error;

	if (!op || !w->duration_ns || gap_part(&e->parts, w->start_ns) < 0 ||
		is_full(e, w->start_ns))
		return 0;
	work.device = op->device;
	work.process = op->process;
	work.stream = gpu_waits_stream(w, op);
	error = get_thread(e, w->thread, &t);
	if (error)
		return error;
	t->launches |= w->thread != 0;
	return large_push(&e->works, work) ? error_memory(SUBJECT) : 0;
}

static uint32_t device_of(const void *work)
{
	return ((const struct gap_work *)work)->device;
}

static int by_device(const void *left, const void *right)
{
	const struct gap_work *a = left, *b = right;

	return a->device != b->device ? order(a->device, b->device)
				      : order(a->start_ns, b->start_ns);
}

/* Of the chunk that begins there: none of its GPU work is wanted. */
static bool has_no_works(const void *events, uint64_t chunk)
{
	const struct gap_events *e = events;
	const struct chunk_time *t = chunk_times_find(e->chunks, chunk);

	return t && !gap_parts_overlap(&e->parts, t->first_work_ns, t->last_work_ns);
}

int gap_events_read_works(struct gap_events *e, struct profile_reader *r, size_t most)
{
	struct profile_event event;
	int more, error = 0;

	e->most = most;
	if (e->chunks)
		profile_reader_skip(r, has_no_works, e);
	while (!error && (more = profile_reader_next(r, &event)))
		if (more < 0)
			error = more;
		else if (event.kind == EVENT_WORK)
			error = add_work(e, r, &event.work);
	if (!error)
		nearly_sort(&e->works, device_of, by_device);
	return error;
}

/* ------------------------------------------------------------------ windows */

int gap_events_add_window(struct gap_events *e, uint64_t start_ns, uint64_t end_ns)
{
	for (; e->windows.count && e->windows.items[e->windows.count - 1].end_ns >= start_ns;
		e->windows.count--)
		if (e->windows.items[e->windows.count - 1].start_ns < start_ns)
			start_ns = e->windows.items[e->windows.count - 1].start_ns;
	return large_push(&e->windows, (struct gap_window){start_ns, end_ns})
		       ? error_memory(SUBJECT)
		       : 0;
}

/* The first window that ends at this time or behind it. */
static size_t find_window(const struct gap_events *e, uint64_t start_ns)
{
	return search_first(i, 0, e->windows.count, e->windows.items[i].end_ns >= start_ns);
}

static bool overlaps_window(const struct gap_events *e, size_t window, uint64_t end_ns)
{
	return window < e->windows.count && e->windows.items[window].start_ns <= end_ns;
}

/* Events of a stretch of time come together: mostly the window is the one that was found last, or
 * the next. */
static bool is_next_window(const struct gap_events *e, size_t at, uint64_t start_ns)
{
	return at < e->windows.count && e->windows.items[at].end_ns >= start_ns &&
	       (!at || e->windows.items[at - 1].end_ns < start_ns);
}

static bool is_wanted(struct gap_events *e, uint64_t start_ns, uint64_t end_ns)
{
	size_t first = e->window;

	if (!is_next_window(e, first, start_ns) && !is_next_window(e, ++first, start_ns))
		first = find_window(e, start_ns);
	e->window = first;
	return overlaps_window(e, first, end_ns);
}

/* --------------------------------------------------------- the second reading: what threads did */

static struct gap_span span_of(
	uint64_t start_ns, uint64_t duration_ns, uint32_t thread, uint32_t stack)
{
	return (struct gap_span){start_ns, end_of(start_ns, duration_ns), thread, stack};
}

/* A copy that is over when its call is: the call waited for it. */
static void mark_blocking(struct gap_events *e, const struct profile_work *w)
{
	uint64_t key = (uint64_t)w->instance << 32 | w->correlation, call;

	if (!w->graph_node && map_remove(&e->copies, key, &call) &&
		end_of(w->start_ns, w->duration_ns) <= e->calls.items[call].span.end_ns)
		e->calls.items[call].is_sync = true;
}

static int add_wait(struct gap_events *e, const struct profile_wait *w)
{
	struct gap_wait wait = {.span = span_of(w->start_ns, w->duration_ns, w->thread, w->stack),
		.waker = w->waker,
		.reason = w->reason < WAIT_REASONS ? (uint8_t)w->reason : WAIT_OTHER};

	e->has_waits = true;
	wait.queued_from_ns =
		wait.span.end_ns - (w->queued_ns < w->duration_ns ? w->queued_ns : w->duration_ns);
	if (!w->duration_ns || !is_wanted(e, wait.span.start_ns, wait.span.end_ns) ||
		is_full(e, w->start_ns))
		return 0;
	return large_push(&e->waits, wait) ? error_memory(SUBJECT) : 0;
}

/* Only the work of a copy shows whether its call waited for it. */
static int add_call(struct gap_events *e, const struct profile_call *c)
{
	struct gap_call call = {.span = span_of(c->start_ns, c->duration_ns, c->thread, c->stack),
		.api = c->api,
		.is_sync = c->kind == CALL_SYNC};

	if (!c->duration_ns)
		return 0;
	if (!((c->kind == CALL_SYNC || c->kind == CALL_COPY) &&
		    gap_part(&e->parts, c->start_ns) >= 0) &&
		!is_wanted(e, call.span.start_ns, call.span.end_ns))
		return 0;
	if (is_full(e, c->start_ns))
		return 0;
	if (c->kind == CALL_COPY &&
		map_put(&e->copies, (uint64_t)c->instance << 32 | c->correlation, e->calls.count))
		return error_memory(SUBJECT);
	return large_push(&e->calls, call) ? error_memory(SUBJECT) : 0;
}

static int add_sync(struct gap_events *e, const struct profile_sync *y)
{
	struct gap_sync sync = {.span = span_of(y->start_ns, y->duration_ns, y->thread, y->stack),
		.context = y->context,
		.stream = y->stream,
		.kind = (uint8_t)y->kind,
		.launched_ns = y->recorded_ns};

	if (!y->duration_ns || gap_part(&e->parts, y->start_ns) < 0 || is_full(e, y->start_ns))
		return 0;
	return large_push(&e->syncs, sync) ? error_memory(SUBJECT) : 0;
}

static int add_life(struct gap_events *e, const struct profile_life *l)
{
	struct gap_life *t;
	int error = get_thread(e, l->thread, &t);

	if (error)
		return error;
	if (!t->end_ns || l->start_ns < t->start_ns)
		t->start_ns = l->start_ns;
	if (end_of(l->start_ns, l->duration_ns) > t->end_ns)
		t->end_ns = end_of(l->start_ns, l->duration_ns);
	return 0;
}

static int add_sample(struct gap_events *e, const struct profile_sample *s)
{
	struct gap_sample sample = {s->time_ns, s->period_ns, s->thread, s->stack};
	struct gap_life *t;
	int error = s->kind == SAMPLE_SEEN ? get_thread(e, s->thread, &t) : 0;

	if (error || s->kind != SAMPLE_SEEN)
		return error;
	t->period_ns = t->period_ns ? t->period_ns : s->period_ns;
	if (!is_wanted(e, s->time_ns, s->time_ns) || is_full(e, s->time_ns))
		return 0;
	return large_push(&e->samples, sample) ? error_memory(SUBJECT) : 0;
}

int gap_events_set_period(struct gap_events *e, uint32_t thread, uint64_t period_ns)
{
	struct gap_life *t;
	int error = get_thread(e, thread, &t);

	if (!error)
		t->period_ns = period_ns;
	return error;
}

static int add_event(
	struct gap_events *e, const struct profile_reader *r, const struct profile_event *event)
{
	const struct profile_op *op;

	switch (event->kind) {
	case EVENT_WORK:
		op = profile_op(r, event->work.op);
		if (op && op->kind == OP_COPY)
			mark_blocking(e, &event->work);
		return 0;
	case EVENT_WAIT:
		return add_wait(e, &event->wait);
	case EVENT_CALL:
		return add_call(e, &event->call);
	case EVENT_SYNC:
		return add_sync(e, &event->sync);
	case EVENT_SAMPLE:
		return add_sample(e, &event->sample);
	case EVENT_LIFE:
		return add_life(e, &event->life);
	default:
		return 0;
	}
}

/* Copies that did not wait are needed in windows only. */
static void drop_unwanted_calls(struct gap_events *e)
{
	size_t kept = 0;

	map_release(&e->copies);
	e->copies = MAP_INIT;
	vec_foreach (c, &e->calls)
		if (c->is_sync || is_wanted(e, c->span.start_ns, c->span.end_ns))
			e->calls.items[kept++] = *c;
	e->calls.count = kept;
}

/* Drops work of the time that what threads did does not cover. */
static void drop_later_works(struct gap_events *e)
{
	size_t kept = 0;

	vec_foreach (w, &e->works)
		if (w->start_ns < e->cut_ns)
			e->works.items[kept++] = *w;
	e->works.count = kept;
}

static uint32_t thread_of(const void *span)
{
	return ((const struct gap_span *)span)->thread;
}

static uint32_t thread_of_sample(const void *sample)
{
	return ((const struct gap_sample *)sample)->thread;
}

static int by_thread(const void *left, const void *right)
{
	const struct gap_span *a = left, *b = right;

	return a->thread != b->thread ? order(a->thread, b->thread)
				      : order(a->start_ns, b->start_ns);
}

static int by_sample(const void *left, const void *right)
{
	const struct gap_sample *a = left, *b = right;

	return a->thread != b->thread ? order(a->thread, b->thread) : order(a->time_ns, b->time_ns);
}

/* Cuts what overlaps the one before; of sorted structs that begin with a gap_span. */
static void cut_spans(void *spans, size_t count, size_t size)
{
	for (size_t i = 1; i < count; i++) {
		struct gap_span *at = (struct gap_span *)((char *)spans + i * size);
		const struct gap_span *before =
			(const struct gap_span *)((char *)spans + (i - 1) * size);

		if (at->thread != before->thread)
			continue;
		if (at->start_ns < before->end_ns)
			at->start_ns = before->end_ns;
		if (at->end_ns < at->start_ns)
			at->end_ns = at->start_ns;
	}
}

/* Waits that were cut have less of the queue, too. */
static void cut_queues(struct gap_events *e)
{
	vec_foreach (w, &e->waits) {
		if (w->queued_from_ns < w->span.start_ns)
			w->queued_from_ns = w->span.start_ns;
		if (w->queued_from_ns > w->span.end_ns)
			w->queued_from_ns = w->span.end_ns;
	}
}

/* Where the entries of each thread are in a sorted list. */
#define find_ranges(e, list, thread_of_item)                                                       \
	({                                                                                         \
		int error_ = 0;                                                                    \
		for (size_t i = 0; !error_ && i < (e)->list.count; i++) {                          \
			struct gap_life *t = NULL;                                                 \
			error_ = get_thread((e), (e)->list.items[i].thread_of_item, &t);           \
			if (error_)                                                                \
				break;                                                             \
			if (!t->list.end)                                                          \
				t->list.first = i;                                                 \
			t->list.end = i + 1;                                                       \
		}                                                                                  \
		error_;                                                                            \
	})

static int sort_all(struct gap_events *e)
{
	int error;

	nearly_sort(&e->samples, thread_of_sample, by_sample);
	nearly_sort(&e->waits, thread_of, by_thread);
	cut_spans(e->waits.items, e->waits.count, sizeof(*e->waits.items));
	cut_queues(e);
	nearly_sort(&e->calls, thread_of, by_thread);
	cut_spans(e->calls.items, e->calls.count, sizeof(*e->calls.items));
	nearly_sort(&e->syncs, thread_of, by_thread);
	cut_spans(e->syncs.items, e->syncs.count, sizeof(*e->syncs.items));
	error = find_ranges(e, waits, span.thread);
	error = error ?: find_ranges(e, calls, span.thread);
	error = error ?: find_ranges(e, syncs, span.thread);
	error = error ?: find_ranges(e, samples, thread);
	return error;
}

/* Of the chunk that begins there: nothing of it is wanted. */
static bool is_elsewhere(const void *events, uint64_t chunk)
{
	const struct gap_events *e = events;
	const struct chunk_time *t = chunk_times_find(e->chunks, chunk);

	return t && !gap_parts_overlap(&e->parts, t->first_ns, t->last_ns) &&
	       !overlaps_window(e, find_window(e, t->first_ns), t->last_ns);
}

int gap_events_read_threads(struct gap_events *e, struct profile_reader *r)
{
	struct profile_event event;
	int more, error = 0;

	if (e->chunks)
		profile_reader_skip(r, is_elsewhere, e);
	while (!error && (more = profile_reader_next(r, &event)))
		error = more < 0 ? more : add_event(e, r, &event);
	if (error)
		return error;
	e->has_waits |= profile_meta(r, META_OFF_CPU) != NULL;
	drop_unwanted_calls(e);
	vec_release(&e->windows);
	if (e->cut_ns)
		drop_later_works(e);
	return sort_all(e);
}

/* ------------------------------------------------------------------ what a thread did */

static bool ends_until(const void *spans, size_t size, size_t at, uint64_t time_ns)
{
	return ((const struct gap_span *)((const char *)spans + at * size))->end_ns <= time_ns;
}

/* Narrows a search (which may also end at *high) to what lies around `near`, in steps that
 * double. */
static void narrow(
	const void *spans, size_t size, size_t near, uint64_t time_ns, size_t *low, size_t *high)
{
	size_t step = 1;

	if (near < *low || near >= *high)
		return;
	if (ends_until(spans, size, near, time_ns)) {
		*low = near + 1;
		for (; step < *high - *low && ends_until(spans, size, *low + step, time_ns);
			step *= 2)
			*low += step + 1;
		if (step < *high - *low)
			*high = *low + step;
	} else {
		*high = near;
		for (; step < *high - *low && !ends_until(spans, size, *high - step, time_ns);
			step *= 2)
			*high -= step;
		if (step < *high - *low)
			*low = *high - step + 1;
	}
}

/* The first in the range that ends behind the time. */
static size_t search(const void *spans, size_t size, struct gap_range *range, uint64_t time_ns)
{
	size_t low = range->first, high = range->end;

	narrow(spans, size, range->near, time_ns, &low, &high);
	range->near = search_first(i, low, high, !ends_until(spans, size, i, time_ns));
	return range->near;
}

size_t gap_events_wait(const struct gap_events *e, uint32_t thread, uint64_t time_ns)
{
	return search(
		e->waits.items, sizeof(*e->waits.items), &e->threads.items[thread].waits, time_ns);
}

size_t gap_events_call(const struct gap_events *e, uint32_t thread, uint64_t time_ns)
{
	return search(
		e->calls.items, sizeof(*e->calls.items), &e->threads.items[thread].calls, time_ns);
}

const struct gap_sync *gap_events_sync(const struct gap_events *e, const struct gap_call *call)
{
	struct gap_range *range = &e->threads.items[call->span.thread].syncs;
	size_t at = search(e->syncs.items, sizeof(*e->syncs.items), range, call->span.start_ns);

	return at < range->end && e->syncs.items[at].span.start_ns < call->span.end_ns
		       ? &e->syncs.items[at]
		       : NULL;
}

size_t gap_events_sample(const struct gap_events *e, uint32_t thread, uint64_t time_ns)
{
	const struct gap_range *range = &e->threads.items[thread].samples;

	return search_first(i, range->first, range->end, e->samples.items[i].time_ns >= time_ns);
}

static uint64_t overlap(uint64_t a, uint64_t a_end, uint64_t b, uint64_t b_end)
{
	uint64_t first = a > b ? a : b, last = a_end < b_end ? a_end : b_end;

	return last > first ? last - first : 0;
}

static uint64_t waited(const struct gap_events *e, uint32_t thread, uint64_t start_ns,
	uint64_t end_ns, struct gap_doing *ret, uint64_t *longest_ns)
{
	size_t end = e->threads.items[thread].waits.end;
	uint64_t sum_ns = 0;

	for (size_t i = gap_events_wait(e, thread, start_ns);
		i < end && e->waits.items[i].span.start_ns < end_ns; i++) {
		const struct gap_wait *w = &e->waits.items[i];
		uint64_t asleep_ns = overlap(w->span.start_ns, w->queued_from_ns, start_ns, end_ns);
		uint64_t queued_ns = overlap(w->queued_from_ns, w->span.end_ns, start_ns, end_ns);
		uint64_t ns = asleep_ns > queued_ns ? asleep_ns : queued_ns;

		sum_ns += asleep_ns + queued_ns;
		ret->wait_ns[w->reason] += asleep_ns;
		ret->wait_ns[WAIT_RUN_QUEUE] += queued_ns;
		if (ns > *longest_ns && w->span.stack) {
			*longest_ns = ns;
			ret->stack = w->span.stack;
			ret->is_wait = true;
		}
	}
	return sum_ns;
}

/* Between calls; then in a call. */
static void add_calls(const struct gap_events *e, uint32_t thread, uint64_t start_ns,
	uint64_t end_ns, struct gap_doing *ret, uint64_t *longest_ns)
{
	size_t end = e->threads.items[thread].calls.end;
	uint64_t at_ns = start_ns;

	for (size_t i = gap_events_call(e, thread, start_ns);
		i < end && e->calls.items[i].span.start_ns < end_ns; i++) {
		const struct gap_call *c = &e->calls.items[i];
		uint64_t from_ns = c->span.start_ns > start_ns ? c->span.start_ns : start_ns;
		uint64_t until_ns = c->span.end_ns < end_ns ? c->span.end_ns : end_ns;

		if (from_ns > at_ns)
			ret->run_ns += from_ns - at_ns -
				       waited(e, thread, at_ns, from_ns, ret, longest_ns);
		if (c->is_sync)
			ret->sync_ns += until_ns - from_ns;
		else
			ret->call_ns += until_ns - from_ns -
					waited(e, thread, from_ns, until_ns, ret, longest_ns);
		at_ns = until_ns;
	}
	if (end_ns > at_ns)
		ret->run_ns += end_ns - at_ns - waited(e, thread, at_ns, end_ns, ret, longest_ns);
}

/* The stack with the most samples, if that is more than the longest wait; equal ones stand in a few
 * runs. */
static void add_samples(const struct gap_events *e, uint32_t thread, uint64_t start_ns,
	uint64_t end_ns, struct gap_doing *ret, uint64_t longest_ns)
{
	size_t first = gap_events_sample(e, thread, start_ns), end = first;
	uint32_t best = 0;
	uint64_t best_ns = 0;

	while (end < e->threads.items[thread].samples.end && e->samples.items[end].time_ns < end_ns)
		ret->sampled_ns += e->samples.items[end++].period_ns;
	for (size_t i = first; i < end && i < first + 256; i++) {
		uint64_t ns = 0;

		for (size_t k = i; k < end && k < i + 256; k++)
			if (e->samples.items[k].stack == e->samples.items[i].stack)
				ns += e->samples.items[k].period_ns;
		if (ns > best_ns) {
			best_ns = ns;
			best = e->samples.items[i].stack;
		}
	}
	if (best && ret->sampled_ns > longest_ns) {
		ret->stack = best;
		ret->is_wait = false;
	}
}

void gap_events_doing(const struct gap_events *e, uint32_t thread, uint64_t start_ns,
	uint64_t end_ns, struct gap_doing *ret)
{
	const struct gap_life *t;
	uint64_t longest_ns = 0;

	*ret = (struct gap_doing){0};
	if (thread >= e->threads.count)
		return;
	t = &e->threads.items[thread];
	if (t->end_ns) {
		start_ns = t->start_ns > start_ns ? t->start_ns : start_ns;
		end_ns = t->end_ns < end_ns ? t->end_ns : end_ns;
	}
	if (start_ns >= end_ns)
		return;
	add_calls(e, thread, start_ns, end_ns, ret, &longest_ns);
	add_samples(e, thread, start_ns, end_ns, ret, longest_ns);
}
