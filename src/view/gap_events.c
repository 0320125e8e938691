// SPDX-License-Identifier: MIT
/*
 * Waits of one thread do not overlap, nor do its calls; in recordings where they do (damaged ones) later ones are cut, so
 * that both starts and ends of a list rise and can be searched.
 */
#include "view/gap_events.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"

static int short_of_memory(void)
{
	return error_set(-ENOMEM, "not enough memory for the gaps of GPUs");
}

void gap_events_release(struct gap_events *e)
{
	vec_release(&e->works);
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
			return short_of_memory();
	*ret = &e->threads.items[id];
	return 0;
}

/* A copy that is over when its call is: the call waited for it. */
static void mark_blocking(struct gap_events *e, uint64_t key, uint64_t end_ns)
{
	uint64_t call;

	if (map_remove(&e->copies, key, &call) && end_ns <= e->calls.items[call].end_ns)
		e->calls.items[call].is_sync = true;
}

static int take_work(struct gap_events *e, const struct profile_reader *r, const struct profile_work *w)
{
	const struct profile_op *op = profile_op(r, w->op);
	struct gap_work work = {.start_ns = w->start_ns, .end_ns = end_of(w->start_ns, w->duration_ns),
		.launch_ns = w->launch_ns, .thread = w->thread, .stack = w->stack, .op = w->op,
		.graph = w->graph_node != 0};
	struct gap_life *t;
	int error;

	if (!op)
		return 0;
	work.device = op->device;
	work.process = op->process;
	if (op->kind == OP_COPY && !w->graph_node)
		mark_blocking(e, (uint64_t)w->instance << 32 | w->correlation, work.end_ns);
	error = get_thread(e, w->thread, &t);
	if (error)
		return error;
	t->launches |= w->thread != 0;
	return vec_push(&e->works, work) ? short_of_memory() : 0;
}

static int take_wait(struct gap_events *e, const struct profile_wait *w)
{
	struct gap_span span = {.start_ns = w->start_ns, .end_ns = end_of(w->start_ns, w->duration_ns), .thread = w->thread,
		.stack = w->stack, .waker = w->waker, .reason = w->reason < WAIT_REASONS ? (uint8_t)w->reason : WAIT_OTHER};
	struct gap_span queued = span;
	uint64_t queued_ns = w->queued_ns < w->duration_ns ? w->queued_ns : w->duration_ns;

	queued.start_ns = span.end_ns = span.end_ns - queued_ns;
	queued.reason = WAIT_RUN_QUEUE;
	if (span.end_ns > span.start_ns && vec_push(&e->waits, span))
		return short_of_memory();
	return queued_ns && vec_push(&e->waits, queued) ? short_of_memory() : 0;
}

static int take_call(struct gap_events *e, const struct profile_call *c)
{
	struct gap_span span = {.start_ns = c->start_ns, .end_ns = end_of(c->start_ns, c->duration_ns), .thread = c->thread,
		.stack = c->stack, .api = c->api, .is_sync = c->kind == CALL_SYNC};

	if (!c->duration_ns)
		return 0;
	if (c->kind == CALL_COPY && map_put(&e->copies, (uint64_t)c->instance << 32 | c->correlation, e->calls.count))
		return short_of_memory();
	return vec_push(&e->calls, span) ? short_of_memory() : 0;
}

static int take_sync(struct gap_events *e, const struct profile_sync *y)
{
	struct gap_span span = {.start_ns = y->start_ns, .end_ns = end_of(y->start_ns, y->duration_ns), .thread = y->thread,
		.context = y->context, .stream = y->stream, .kind = (uint8_t)y->kind, .launched_ns = y->recorded_ns};

	return y->duration_ns && vec_push(&e->syncs, span) ? short_of_memory() : 0;
}

static int take_life(struct gap_events *e, const struct profile_life *l)
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

static int take_sample(struct gap_events *e, const struct profile_sample *s)
{
	struct gap_sample sample = {s->time_ns, s->period_ns, s->thread, s->stack};

	return vec_push(&e->samples, sample) ? short_of_memory() : 0;
}

static int take_event(struct gap_events *e, const struct profile_reader *r, const struct profile_event *event)
{
	switch (event->kind) {
	case EVENT_WORK:
		return take_work(e, r, &event->work);
	case EVENT_WAIT:
		return take_wait(e, &event->wait);
	case EVENT_CALL:
		return take_call(e, &event->call);
	case EVENT_SYNC:
		return take_sync(e, &event->sync);
	case EVENT_SAMPLE:
		return take_sample(e, &event->sample);
	case EVENT_LIFE:
		return take_life(e, &event->life);
	default:
		return 0;
	}
}

static uint64_t time_of(const struct profile_event *e)
{
	return e->kind == EVENT_WORK ? e->work.start_ns : e->kind == EVENT_CALL ? e->call.start_ns :
	       e->kind == EVENT_WAIT ? e->wait.start_ns : e->kind == EVENT_SAMPLE ? e->sample.time_ns : 0;
}

static int order(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int by_device(const void *left, const void *right)
{
	const struct gap_work *a = left, *b = right;

	return a->device != b->device ? order(a->device, b->device) : order(a->start_ns, b->start_ns);
}

static int by_thread(const void *left, const void *right)
{
	const struct gap_span *a = left, *b = right;

	return a->thread != b->thread ? order(a->thread, b->thread) : order(a->start_ns, b->start_ns);
}

static int by_sample(const void *left, const void *right)
{
	const struct gap_sample *a = left, *b = right;

	return a->thread != b->thread ? order(a->thread, b->thread) : order(a->time_ns, b->time_ns);
}

static void sort_spans(struct gap_span *spans, size_t count)
{
	if (!count)
		return;
	qsort(spans, count, sizeof(*spans), by_thread);
	for (size_t i = 1; i < count; i++) {
		if (spans[i].thread != spans[i - 1].thread)
			continue;
		if (spans[i].start_ns < spans[i - 1].end_ns)
			spans[i].start_ns = spans[i - 1].end_ns;
		if (spans[i].end_ns < spans[i].start_ns)
			spans[i].end_ns = spans[i].start_ns;
	}
}

/* Where the entries of each thread are in a sorted list. */
#define find_ranges(e, list)                                                       \
	({                                                                         \
		int error_ = 0;                                                    \
		for (size_t i = 0; !error_ && i < (e)->list.count; i++) {          \
			struct gap_life *t = NULL;                                 \
			error_ = get_thread((e), (e)->list.items[i].thread, &t);   \
			if (error_)                                                \
				break;                                             \
			if (!t->list.end)                                          \
				t->list.first = i;                                 \
			t->list.end = i + 1;                                       \
		}                                                                  \
		error_;                                                            \
	})

static int sort_all(struct gap_events *e)
{
	int error;

	if (e->works.count)
		qsort(e->works.items, e->works.count, sizeof(*e->works.items), by_device);
	if (e->samples.count)
		qsort(e->samples.items, e->samples.count, sizeof(*e->samples.items), by_sample);
	sort_spans(e->waits.items, e->waits.count);
	sort_spans(e->calls.items, e->calls.count);
	sort_spans(e->syncs.items, e->syncs.count);
	error = find_ranges(e, waits);
	if (!error)
		error = find_ranges(e, calls);
	if (!error)
		error = find_ranges(e, syncs);
	if (!error)
		error = find_ranges(e, samples);
	return error;
}

int gap_events_read(struct gap_events *e, struct profile_reader *r, size_t most)
{
	struct profile_event event;
	int more, error = 0;

	while (!error && (more = profile_reader_next(r, &event))) {
		if (more < 0)
			return more;
		if (e->works.count + e->waits.count + e->calls.count + e->syncs.count + e->samples.count < most)
			error = take_event(e, r, &event);
		else if (!e->cut_ns)
			e->cut_ns = time_of(&event);
	}
	e->has_waits = profile_meta(r, META_OFF_CPU) || e->waits.count;
	return error ? error : sort_all(e);
}

static size_t search(const struct gap_span *spans, struct gap_range range, uint64_t time_ns)
{
	while (range.first < range.end) {
		size_t middle = range.first + (range.end - range.first) / 2;

		if (spans[middle].end_ns <= time_ns)
			range.first = middle + 1;
		else
			range.end = middle;
	}
	return range.first;
}

size_t gap_events_wait(const struct gap_events *e, uint32_t thread, uint64_t time_ns)
{
	return search(e->waits.items, e->threads.items[thread].waits, time_ns);
}

size_t gap_events_call(const struct gap_events *e, uint32_t thread, uint64_t time_ns)
{
	return search(e->calls.items, e->threads.items[thread].calls, time_ns);
}

const struct gap_span *gap_events_sync(const struct gap_events *e, const struct gap_span *call)
{
	const struct gap_range *range = &e->threads.items[call->thread].syncs;
	size_t at = search(e->syncs.items, *range, call->start_ns);

	return at < range->end && e->syncs.items[at].start_ns < call->end_ns ? &e->syncs.items[at] : NULL;
}

size_t gap_events_sample(const struct gap_events *e, uint32_t thread, uint64_t time_ns)
{
	struct gap_range range = e->threads.items[thread].samples;

	while (range.first < range.end) {
		size_t middle = range.first + (range.end - range.first) / 2;

		if (e->samples.items[middle].time_ns < time_ns)
			range.first = middle + 1;
		else
			range.end = middle;
	}
	return range.first;
}

static uint64_t overlap(uint64_t a, uint64_t a_end, uint64_t b, uint64_t b_end)
{
	uint64_t first = a > b ? a : b, last = a_end < b_end ? a_end : b_end;

	return last > first ? last - first : 0;
}

static uint64_t waited(const struct gap_events *e, uint32_t thread, uint64_t start_ns, uint64_t end_ns,
	struct gap_doing *ret, uint64_t *longest_ns)
{
	size_t end = e->threads.items[thread].waits.end;
	uint64_t sum_ns = 0;

	for (size_t i = gap_events_wait(e, thread, start_ns); i < end && e->waits.items[i].start_ns < end_ns; i++) {
		const struct gap_span *w = &e->waits.items[i];
		uint64_t ns = overlap(w->start_ns, w->end_ns, start_ns, end_ns);

		sum_ns += ns;
		if (ret)
			ret->wait_ns[w->reason] += ns;
		if (ret && ns > *longest_ns && w->stack) {
			*longest_ns = ns;
			ret->stack = w->stack;
			ret->is_wait = true;
		}
	}
	return sum_ns;
}

/* Between calls; then in a call. */
static void add_calls(const struct gap_events *e, uint32_t thread, uint64_t start_ns, uint64_t end_ns,
	struct gap_doing *ret, uint64_t *longest_ns)
{
	size_t end = e->threads.items[thread].calls.end;
	uint64_t at_ns = start_ns;

	for (size_t i = gap_events_call(e, thread, start_ns); i < end && e->calls.items[i].start_ns < end_ns; i++) {
		const struct gap_span *c = &e->calls.items[i];
		uint64_t from_ns = c->start_ns > start_ns ? c->start_ns : start_ns;
		uint64_t until_ns = c->end_ns < end_ns ? c->end_ns : end_ns;

		if (from_ns > at_ns)
			ret->run_ns += from_ns - at_ns - waited(e, thread, at_ns, from_ns, ret, longest_ns);
		if (c->is_sync)
			ret->sync_ns += until_ns - from_ns;
		else
			ret->call_ns += until_ns - from_ns - waited(e, thread, from_ns, until_ns, ret, longest_ns);
		at_ns = until_ns;
	}
	if (end_ns > at_ns)
		ret->run_ns += end_ns - at_ns - waited(e, thread, at_ns, end_ns, ret, longest_ns);
}

/* The stack with the most samples, if that is more than the longest wait; equal ones stand in a few runs. */
static void add_samples(const struct gap_events *e, uint32_t thread, uint64_t start_ns, uint64_t end_ns,
	struct gap_doing *ret, uint64_t longest_ns)
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

void gap_events_doing(const struct gap_events *e, uint32_t thread, uint64_t start_ns, uint64_t end_ns, struct gap_doing *ret)
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
