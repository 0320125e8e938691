// SPDX-License-Identifier: MIT
#include "profile/clip.h"

#include "base/search.h"
#include "profile/chunk_times.h"
#include "profile/reader.h"

/* A piece of [start_ns, start_ns + duration_ns). */
struct piece {
	uint64_t start_ns, duration_ns;
	struct profile_cut cut;
};

/* The first span that ends after a time. */
static size_t first_span(const struct profile_clip *c, uint64_t time_ns)
{
	return search_first(i, 0, c->span_count, c->spans[i].to_ns > time_ns);
}

bool clip_has_time(const struct profile_clip *c, uint64_t time_ns)
{
	size_t n = c ? first_span(c, time_ns) : 0;

	return !c || (n < c->span_count && c->spans[n].from_ns <= time_ns);
}

bool clip_has_thread(const struct profile_clip *c, uint32_t thread)
{
	return !c || !c->threads || (thread < c->thread_count && c->threads[thread]);
}

bool clip_has_device(const struct profile_clip *c, uint32_t device)
{
	return !c || !c->devices || (device < c->device_count && c->devices[device]);
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t end_of(uint64_t start_ns, uint64_t duration_ns)
{
	return duration_ns < UINT64_MAX - start_ns ? start_ns + duration_ns : UINT64_MAX;
}

uint64_t clip_inside(const struct profile_clip *c, uint64_t start_ns, uint64_t end_ns)
{
	uint64_t sum_ns = 0;

	if (end_ns <= start_ns)
		return 0;
	if (!c)
		return end_ns - start_ns;
	for (size_t n = first_span(c, start_ns); n < c->span_count && c->spans[n].from_ns < end_ns;
		n++)
		sum_ns += earlier(c->spans[n].to_ns, end_ns) - later(c->spans[n].from_ns, start_ns);
	return sum_ns;
}

void clip_hull(const struct profile_clip *c, uint64_t *start_ns, uint64_t *end_ns)
{
	size_t first = first_span(c, *start_ns), end = first;

	while (end < c->span_count && c->spans[end].from_ns < *end_ns)
		end++;
	if (first == end) {
		*end_ns = *start_ns;
		return;
	}
	*start_ns = later(*start_ns, c->spans[first].from_ns);
	*end_ns = earlier(*end_ns, c->spans[end - 1].to_ns);
}

/* What the first `passed` of `all` parts have. */
static uint64_t part(uint64_t amount, uint64_t passed, uint64_t all)
{
	return (uint64_t)((unsigned __int128)amount * passed / all);
}

uint64_t clip_share(
	const struct profile_clip *c, uint64_t start_ns, uint64_t end_ns, uint64_t amount)
{
	uint64_t sum = 0;

	if (!c)
		return amount;
	if (end_ns <= start_ns)
		return clip_has_time(c, end_ns) ? amount : 0;
	for (size_t n = first_span(c, start_ns); n < c->span_count && c->spans[n].from_ns < end_ns;
		n++) {
		uint64_t from_ns = later(c->spans[n].from_ns, start_ns) - start_ns,
			 to_ns = earlier(c->spans[n].to_ns, end_ns) - start_ns;

		sum += part(amount, to_ns, end_ns - start_ns) -
		       part(amount, from_ns, end_ns - start_ns);
	}
	return sum;
}

size_t clip_edges_before(const struct profile_clip *c, uint64_t time_ns)
{
	size_t n = first_span(c, time_ns);

	return 2 * n + (n < c->span_count && c->spans[n].from_ns <= time_ns);
}

bool clip_skips_chunk(const struct profile_clip *c, uint64_t chunk)
{
	const struct chunk_time *t = c->chunks ? chunk_times_find(c->chunks, chunk) : NULL;
	size_t n;

	if (!t || t->first_ns > t->last_ns)
		return false;
	n = first_span(c, t->first_ns);
	return n == c->span_count || c->spans[n].from_ns > t->last_ns;
}

static uint32_t device_of(const struct profile_reader *r, const struct profile_event *e)
{
	const struct profile_probe_context *context;
	const struct profile_op *op;

	switch (e->kind) {
	case EVENT_WORK:
		op = profile_op(r, e->work.op);
		return op ? op->device : 0;
	case EVENT_COUNT:
		return e->count.device;
	case EVENT_SYNC:
		return e->sync.device;
	case EVENT_FOUND:
		context = profile_probe_context(r, e->found.context);
		return context ? context->device : 0;
	default:
		return 0;
	}
}

static uint32_t thread_of(const struct profile_event *e)
{
	switch (e->kind) {
	case EVENT_SAMPLE:
		return e->sample.thread;
	case EVENT_CALL:
		return e->call.thread;
	case EVENT_WORK:
		return e->work.thread;
	case EVENT_PENDING:
		return e->pending.thread;
	case EVENT_DRIVER:
		return e->driver.thread;
	case EVENT_WAIT:
		return e->wait.thread;
	case EVENT_LIFE:
		return e->life.thread;
	case EVENT_SYNC:
		return e->sync.thread;
	case EVENT_MARKER:
		return e->marker.thread;
	case EVENT_STALL:
	case EVENT_COUNT:
	case EVENT_FOUND:
		break;
	}
	return 0;
}

bool clip_selects(
	const struct profile_clip *c, const struct profile_reader *r, const struct profile_event *e)
{
	if (e->kind == EVENT_STALL)
		return true;
	if (c->threads && !clip_has_thread(c, thread_of(e)))
		return false;
	return !c->devices || clip_has_device(c, device_of(r, e));
}

/* What is without length is one piece, as it is; else the next one. */
static bool next_piece(const struct profile_clip *c, uint64_t start_ns, uint64_t duration_ns,
	size_t *span, struct piece *ret)
{
	uint64_t from_ns, to_ns;

	if (!*span)
		*span = first_span(c, start_ns);
	if (*span >= c->span_count)
		return false;
	from_ns = c->spans[*span].from_ns;
	to_ns = c->spans[*span].to_ns;
	if (!duration_ns) {
		*span = c->span_count;
		*ret = (struct piece){.start_ns = start_ns};
		return from_ns <= start_ns;
	}
	from_ns = later(from_ns, start_ns);
	to_ns = earlier(to_ns, end_of(start_ns, duration_ns));
	if (from_ns >= to_ns)
		return false;
	++*span;
	*ret = (struct piece){from_ns, to_ns - from_ns, {from_ns - start_ns, from_ns > start_ns}};
	return true;
}

/* The others of a wait, and that it could have run, are at its begin and at its end. */
static void cut_wait(const struct profile_wait *whole, struct profile_wait *w)
{
	uint64_t queued_from_ns = whole->duration_ns - whole->queued_ns, /* after it began */
		end_ns = w->cut.passed_ns + w->duration_ns;

	w->queued_ns =
		end_ns > queued_from_ns ? end_ns - later(queued_from_ns, w->cut.passed_ns) : 0;
	if (w->cut.continued)
		w->others = w->others_ns = 0;
}

static void cut_life(
	const struct profile_life *whole, const struct piece *p, struct profile_life *l)
{
	uint64_t end_ns = p->cut.passed_ns + p->duration_ns;

	if (whole->duration_ns)
		l->run_ns = part(whole->run_ns, end_ns, whole->duration_ns) -
			    part(whole->run_ns, p->cut.passed_ns, whole->duration_ns);
}

static bool next_moment(const struct profile_clip *c, uint64_t time_ns, size_t *span)
{
	struct piece p;

	return next_piece(c, time_ns, 0, span, &p);
}

#define CUT(kind)                                                                                  \
	(next_piece(c, e->kind.start_ns, e->kind.duration_ns, span, &p)                            \
			? (*ret = *e, ret->kind.start_ns = p.start_ns,                             \
				  ret->kind.duration_ns = p.duration_ns, true)                     \
			: false)
#define CUT_AND_MARK(kind) (CUT(kind) ? (ret->kind.cut = p.cut, true) : false)

bool clip_next_piece(const struct profile_clip *c, const struct profile_event *e, size_t *span,
	struct profile_event *ret)
{
	struct piece p;

	switch (e->kind) {
	case EVENT_SAMPLE:
		*ret = *e;
		return next_moment(c, e->sample.time_ns, span);
	case EVENT_FOUND:
		*ret = *e; /* maps are as they were at the end, whatever the time */
		return e->found.program ? next_moment(c, e->found.time_ns, span) : !(*span)++;
	case EVENT_PENDING:
		*ret = *e;
		return next_moment(c, e->pending.start_ns, span);
	case EVENT_STALL:
		*ret = *e;
		return !(*span)++;
	case EVENT_CALL:
		return CUT_AND_MARK(call);
	case EVENT_WORK:
		if (!CUT_AND_MARK(work))
			return false;
		ret->work.bytes = p.cut.continued ? 0 : e->work.bytes;
		return true;
	case EVENT_DRIVER:
		if (!CUT_AND_MARK(driver))
			return false;
		ret->driver.bytes = p.cut.continued ? 0 : e->driver.bytes;
		return true;
	case EVENT_SYNC:
		return CUT_AND_MARK(sync);
	case EVENT_MARKER:
		return CUT_AND_MARK(marker);
	case EVENT_WAIT:
		if (!CUT_AND_MARK(wait))
			return false;
		cut_wait(&e->wait, &ret->wait);
		return true;
	case EVENT_COUNT:
		return CUT(count);
	case EVENT_LIFE:
		if (!CUT(life))
			return false;
		cut_life(&e->life, &p, &ret->life);
		return true;
	}
	return false;
}
