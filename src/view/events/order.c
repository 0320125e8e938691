// SPDX-License-Identifier: MIT
/* Events fill a window; when it is full it is sorted, and the earlier half goes out. */
#include "view/events/order.h"

#include <string.h>

#include "base/error.h"
#include "base/order.h"
#include "base/vec.h"
#include "view/fold/result.h"

struct held {
	struct event_span span;
	struct profile_event event;
};

struct window {
	struct held *held, *spare; /* EVENT_ORDER_WINDOW and half as many */
	uint64_t *starts_ns;	   /* of those held, together, as they are read more often */
	size_t count;
	struct vec(uint64_t) busy_until_ns; /* by thread: its last sample */
	struct order order;
	int (*handle)(void *arg, const struct profile_event *e, const struct event_span *span);
	void (*expect)(void *arg, const struct profile_event *e);
	void *arg;
};

static int place_sample(
	struct window *w, const struct profile_sample *s, struct event_span *ret_span)
{
	uint64_t start_ns = s->time_ns > s->period_ns ? s->time_ns - s->period_ns : 0;

	while (w->busy_until_ns.count <= s->thread)
		if (vec_push(&w->busy_until_ns, 0))
			return error_memory("the order of samples");
	if (start_ns < w->busy_until_ns.items[s->thread])
		start_ns = w->busy_until_ns.items[s->thread];
	*ret_span = (struct event_span){start_ns, s->period_ns};
	if (__builtin_add_overflow(start_ns, s->period_ns, &w->busy_until_ns.items[s->thread]))
		w->busy_until_ns.items[s->thread] = UINT64_MAX;
	return 0;
}

/* 1, 0 for events without a place, or -errno. */
static int place(struct window *w, const struct profile_event *e, struct event_span *ret)
{
	switch (e->kind) {
	case EVENT_SAMPLE:
		if (e->sample.kind != SAMPLE_SEEN)
			return 0;
		return place_sample(w, &e->sample, ret) ?: 1;
	case EVENT_CALL:
		*ret = (struct event_span){e->call.start_ns, e->call.duration_ns};
		return 1;
	case EVENT_WORK:
		*ret = (struct event_span){e->work.start_ns, e->work.duration_ns};
		return 1;
	case EVENT_COUNT:
		*ret = (struct event_span){e->count.start_ns, e->count.duration_ns};
		return 1;
	case EVENT_DRIVER:
		*ret = (struct event_span){e->driver.start_ns, e->driver.duration_ns};
		return 1;
	case EVENT_WAIT:
		*ret = (struct event_span){e->wait.start_ns, e->wait.duration_ns};
		return e->wait.duration_ns > 0;
	case EVENT_MARKER:
		*ret = (struct event_span){e->marker.start_ns, e->marker.duration_ns};
		return 1;
	case EVENT_SYNC:
		*ret = (struct event_span){e->sync.start_ns, e->sync.duration_ns};
		return 1;
	case EVENT_PENDING:
		*ret = (struct event_span){e->pending.start_ns, 0};
		return 1;
	case EVENT_STALL:
	case EVENT_LIFE:
	case EVENT_FOUND:
		break;
	}
	return 0;
}

static void sort_by(struct window *w, uint64_t first_ns, unsigned int shift)
{
	for (size_t i = 0; i < w->count; i++)
		w->order.numbers[i] = (uint32_t)((w->starts_ns[i] - first_ns) >> shift);
	order_sort(&w->order);
}

/* Stable: events that begin together stay in the order of the file. */
static void sort(struct window *w)
{
	uint64_t first_ns = UINT64_MAX, last_ns = 0;

	w->order.count = w->count;
	for (size_t i = 0; i < w->count; i++) {
		w->order.items[i] = (uint32_t)i;
		if (w->starts_ns[i] < first_ns)
			first_ns = w->starts_ns[i];
		if (w->starts_ns[i] > last_ns)
			last_ns = w->starts_ns[i];
	}
	sort_by(w, first_ns, 0);
	if (w->count && (last_ns - first_ns) >> 32)
		sort_by(w, first_ns, 32);
}

/* Hands out all but the last `keep` events. */
static int flush(struct window *w, size_t keep)
{
	size_t out = w->count - keep;
	int error = 0;

	sort(w);
	for (size_t i = 0; !error && i < out; i++) {
		const struct held *h = &w->held[w->order.items[i]];

		if (w->expect && i + EVENT_ORDER_AHEAD < out)
			w->expect(w->arg, &w->held[w->order.items[i + EVENT_ORDER_AHEAD]].event);
		error = w->handle(w->arg, &h->event, &h->span);
	}
	for (size_t i = 0; i < keep; i++)
		w->spare[i] = w->held[w->order.items[out + i]];
	memcpy(w->held, w->spare, keep * sizeof(*w->held));
	for (size_t i = 0; i < keep; i++)
		w->starts_ns[i] = w->held[i].span.start_ns;
	w->count = keep;
	return error;
}

static int add(struct window *w, const struct profile_event *e)
{
	struct event_span span = {0};
	int placed = place(w, e, &span);

	if (placed <= 0)
		return placed;
	w->starts_ns[w->count] = span.start_ns;
	w->held[w->count++] = (struct held){span, *e};
	return w->count == EVENT_ORDER_WINDOW ? flush(w, EVENT_ORDER_WINDOW / 2) : 0;
}

static int init(struct window *w)
{
	w->held = malloc(EVENT_ORDER_WINDOW * sizeof(*w->held));
	w->spare = malloc(EVENT_ORDER_WINDOW / 2 * sizeof(*w->spare));
	w->starts_ns = malloc(EVENT_ORDER_WINDOW * sizeof(*w->starts_ns));
	if (!w->held || !w->spare || !w->starts_ns)
		return error_memory("the order of events");
	return order_init(&w->order, EVENT_ORDER_WINDOW);
}

static int read_all(struct window *w, const struct profile_reader *tables)
{
	struct profile_reader *r;
	struct profile_event event;
	int more, error = profile_reader_open_again(&r, tables);

	if (error)
		return error;
	while (!error && (more = profile_reader_next(r, &event)))
		error = more < 0 ? more : add(w, &event);
	profile_reader_close(r);
	return error ?: flush(w, 0);
}

bool event_is_shown(const struct profile_event *e, unsigned int shows)
{
	static const unsigned int by[] = {
		[EVENT_SAMPLE] = VIEW_SHOWS_CPU,
		[EVENT_CALL] = VIEW_SHOWS_CPU | VIEW_SHOWS_CALLS,
		[EVENT_WORK] = VIEW_SHOWS_GPU,
		[EVENT_COUNT] = VIEW_SHOWS_GPU,
		[EVENT_DRIVER] = VIEW_SHOWS_GPU,
		[EVENT_WAIT] = VIEW_SHOWS_CPU | VIEW_SHOWS_WAITS,
		[EVENT_SYNC] = VIEW_SHOWS_CPU | VIEW_SHOWS_WAITS,
	};

	return e->kind < sizeof(by) / sizeof(*by) && shows & by[e->kind];
}

int events_in_order(const struct profile_reader *tables,
	int (*handle)(void *arg, const struct profile_event *e, const struct event_span *span),
	void *arg)
{
	return events_in_order_expected(tables, handle, NULL, arg);
}

int events_in_order_expected(const struct profile_reader *tables,
	int (*handle)(void *arg, const struct profile_event *e, const struct event_span *span),
	void (*expect)(void *arg, const struct profile_event *e), void *arg)
{
	struct window w = {.handle = handle, .expect = expect, .arg = arg};
	int error = init(&w);

	error = error ?: read_all(&w, tables);
	order_release(&w.order);
	vec_release(&w.busy_until_ns);
	free(w.held);
	free(w.spare);
	free(w.starts_ns);
	return error;
}
