// SPDX-License-Identifier: MIT
#include "view/range/range.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "view/range/choose.h"
#include "view/range/markers.h"
#include "view/range/time.h"

#define SUBJECT "the range"

/* What is known after the first reading. */
struct finding {
	const struct profile_reader *done;
	const struct range_wanted *wanted;
	struct range *range;
	const struct chunk_times *chunks;
	uint64_t start_ns, end_ns;  /* of the recording */
	uint64_t first_ns, last_ns; /* of its events */
	struct profile_span asked;  /* by --from and --to */
	struct marker_times markers;
};

bool range_is_wanted(const struct range_wanted *w)
{
	return w->from || w->to || w->thread || w->device || w->marker || w->spans;
}

void range_free(struct range *r)
{
	if (!r)
		return;
	vec_release(&r->spans);
	chunk_times_release(&r->chunks);
	free(r->threads);
	free(r->devices);
	free(r->times);
	free(r->text);
	free(r);
}

static void see(struct finding *f, uint64_t start_ns, uint64_t duration_ns)
{
	f->first_ns = start_ns < f->first_ns ? start_ns : f->first_ns;
	if (duration_ns < UINT64_MAX - start_ns && start_ns + duration_ns > f->last_ns)
		f->last_ns = start_ns + duration_ns;
}

static void see_event(struct finding *f, const struct profile_event *e)
{
	switch (e->kind) {
	case EVENT_SAMPLE:
		return see(f, e->sample.time_ns, 0);
	case EVENT_CALL:
		return see(f, e->call.start_ns, e->call.duration_ns);
	case EVENT_WORK:
		return see(f, e->work.start_ns, e->work.duration_ns);
	case EVENT_WAIT:
		return see(f, e->wait.start_ns, e->wait.duration_ns);
	case EVENT_MARKER:
		return see(f, e->marker.start_ns, e->marker.duration_ns);
	default:
		return;
	}
}

static void find_extent(struct finding *f)
{
	f->start_ns = profile_meta_number(f->done, META_START_NS, f->first_ns);
	f->end_ns = profile_meta_number(f->done, META_END_NS, f->last_ns);
	if (f->end_ns < f->start_ns)
		f->end_ns = f->start_ns;
}

static int read_all(struct finding *f, struct profile_reader *r)
{
	struct profile_event e;
	int more;

	f->first_ns = UINT64_MAX;
	while ((more = profile_reader_next(r, &e)) > 0) {
		see_event(f, &e);
		f->range->clip.events++;
		if (chunk_times_add(&f->range->chunks, r, &e))
			return error_memory(SUBJECT);
		if (e.kind == EVENT_MARKER && f->wanted->marker &&
			marker_times_add(&f->markers, r, &e.marker))
			return -ENOMEM;
	}
	if (f->first_ns == UINT64_MAX)
		f->first_ns = 0;
	find_extent(f);
	f->chunks = &f->range->chunks;
	return more;
}

/* "12.5 s" */
static void put_seconds(struct buf *b, uint64_t ns)
{
	char text[48];
	int end = snprintf(text, sizeof(text), "%llu.%09llu", (unsigned long long)(ns / 1000000000),
		(unsigned long long)(ns % 1000000000));

	while (text[end - 1] == '0')
		end--;
	if (text[end - 1] == '.')
		end--;
	buf_printf(b, "%.*s s", end, text);
}

/* Lengths, to four digits or more. */
static void put_length(struct buf *b, uint64_t ns)
{
	uint64_t step = 1;

	while (step <= ns / 10000)
		step *= 10;
	put_seconds(b, ns / step * step + (ns % step >= (step + 1) / 2 ? step : 0));
}

static int outside(const struct finding *f, const char *option, const char *text, const char *why)
{
	struct buf length = BUF_INIT;
	int error;

	put_length(&length, f->end_ns - f->start_ns);
	error = error_set(-ERANGE, "--%s %s is %s of the recording, which lasts %s", option, text,
		why, buf_text(&length));
	buf_release(&length);
	return error;
}

static int find_time(const struct finding *f, const char *option, const char *text,
	uint64_t from_ns, uint64_t *ret)
{
	const struct range_clock clock = {
		f->start_ns, profile_meta_number(f->done, META_REALTIME_NS, 0), from_ns};
	struct range_time time;
	struct buf why = BUF_INIT;
	int error = range_time_parse(text, &time);

	error = error ?: range_time_ns(&time, &clock, ret);
	if (!error)
		return 0;
	buf_puts(&why, error_text());
	error = error_set(-ERANGE, "option '--%s' %s", option, buf_text(&why));
	buf_release(&why);
	return error;
}

static int find_times(struct finding *f)
{
	const struct range_wanted *w = f->wanted;
	int error = 0;

	f->asked = (struct profile_span){0, UINT64_MAX};
	if (w->from)
		error = find_time(f, "from", w->from, f->start_ns, &f->asked.from_ns);
	if (!error && w->to)
		error = find_time(
			f, "to", w->to, w->from ? f->asked.from_ns : f->start_ns, &f->asked.to_ns);
	if (error)
		return error;
	if (w->from && w->to && f->asked.to_ns <= f->asked.from_ns)
		return error_set(-ERANGE, "the range is empty: --to %s is not after --from %s",
			w->to, w->from);
	if (w->from && f->asked.from_ns > f->end_ns && f->asked.from_ns > f->last_ns)
		return outside(f, "from", w->from, "behind the end");
	if (w->to && f->asked.to_ns <= f->start_ns)
		return outside(f, "to", w->to, "not behind the start");
	return 0;
}

static int add_span(struct range *r, struct profile_span span)
{
	return vec_push(&r->spans, span) ? error_memory(SUBJECT) : 0;
}

static int find_spans(struct finding *f)
{
	int error = 0;

	for (size_t n = 0; !error && f->wanted->spans && n < f->wanted->span_count; n++)
		error = add_span(f->range, f->wanted->spans[n]);
	if (f->wanted->spans)
		return error;
	if (!f->wanted->marker)
		return add_span(f->range, f->asked);
	error = marker_times_finish(&f->markers, f->asked);
	vec_foreach (t, &f->markers.found)
		error = error ?: add_span(f->range, t->span);
	return error;
}

static int choose(struct finding *f)
{
	struct range *r = f->range;
	int error = 0;

	if (f->wanted->thread)
		error = range_choose_threads(f->done, f->wanted->thread, &r->threads);
	if (!error && f->wanted->device)
		error = range_choose_devices(f->done, f->wanted->device, &r->devices);
	r->clip = (struct profile_clip){
		.chunks = f->chunks,
		.events = r->clip.events,
		.spans = r->spans.items,
		.span_count = r->spans.count,
		.threads = r->threads,
		.thread_count = (size_t)profile_counts(f->done).threads + 1,
		.devices = r->devices,
		.device_count = (size_t)profile_counts(f->done).devices + 1,
	};
	return error;
}

static void put_times(const struct finding *f, struct buf *b)
{
	const struct profile_span *s = &f->asked;
	uint64_t from_ns = s->from_ns > f->start_ns ? s->from_ns : f->start_ns,
		 to_ns = s->to_ns < f->end_ns ? s->to_ns : f->end_ns;

	if (from_ns > to_ns)
		from_ns = to_ns;
	if (f->wanted->marker || f->wanted->spans) {
		put_length(b, clip_inside(&f->range->clip, f->start_ns, f->end_ns));
		buf_puts(b, " of ");
	} else if (!f->wanted->from && !f->wanted->to) {
		buf_puts(b, "all of ");
	} else {
		put_seconds(b, from_ns - f->start_ns);
		buf_puts(b, " to ");
		if (to_ns < f->end_ns)
			put_seconds(b, to_ns - f->start_ns);
		else
			put_length(b, to_ns - f->start_ns);
		buf_puts(b, " of ");
	}
	put_length(b, f->end_ns - f->start_ns);
}

static int describe(struct finding *f)
{
	struct buf b = BUF_INIT;
	int error;

	put_times(f, &b);
	f->range->times = b.failed ? NULL : strdup(buf_text(&b));
	if (f->wanted->thread)
		buf_printf(&b, ", thread %s", f->wanted->thread);
	if (f->wanted->marker)
		buf_printf(&b, ", marker %s", f->wanted->marker);
	if (f->wanted->spans)
		buf_printf(&b, ", %s", f->wanted->spans_are);
	if (f->wanted->device)
		buf_printf(&b, ", device %s", f->wanted->device);
	f->range->elapsed_ns = clip_inside(&f->range->clip, f->start_ns, f->end_ns);
	f->range->text = b.failed ? NULL : strdup(buf_text(&b));
	error = f->range->text && f->range->times ? 0 : error_memory(SUBJECT);
	buf_release(&b);
	return error;
}

static void recall(struct finding *f, const struct range_known *known)
{
	f->first_ns = known->first_ns;
	f->last_ns = known->last_ns;
	f->range->clip.events = known->events;
	f->chunks = known->chunks;
	find_extent(f);
}

/* Of a recording that was read. */
static int find(struct finding *f)
{
	int error = find_times(f);

	error = error ?: find_spans(f);
	error = error ?: choose(f);
	return error ?: describe(f);
}

static int open_part(
	struct range *range, struct profile_reader **reader, const struct range_wanted *w)
{
	struct finding f = {.done = *reader, .wanted = w, .range = range};
	struct profile_reader *again = NULL;
	int error;

	if (w->marker)
		marker_times_init(&f.markers, w->marker);
	error = read_all(&f, *reader);
	error = error ?: find(&f);
	marker_times_release(&f.markers);
	error = error ?: profile_reader_open_again(&again, *reader);
	if (error)
		return error;
	profile_reader_clip(again, &range->clip);
	profile_reader_close(*reader);
	*reader = again;
	return 0;
}

static int open_known(
	struct range *range, struct profile_reader **reader, const struct range_wanted *w)
{
	struct finding f = {.done = w->known->done, .wanted = w, .range = range};
	int error;

	if (range) {
		recall(&f, w->known);
		error = find(&f);
		if (error)
			return error;
	}
	error = profile_reader_open_again(reader, w->known->done);
	if (!error && range)
		profile_reader_clip(*reader, &range->clip);
	return error;
}

int range_open(struct range **ret, struct profile_reader **ret_reader, const char *path,
	const struct range_wanted *w)
{
	struct range *range = range_is_wanted(w) ? calloc(1, sizeof(*range)) : NULL;
	struct profile_reader *reader = NULL;
	bool is_known = w->known && !w->marker; /* where markers are is not */
	int error = range_is_wanted(w) && !range ? error_memory(SUBJECT) : 0;

	if (!error && is_known)
		error = open_known(range, &reader, w);
	else if (!error)
		error = profile_reader_open(&reader, path);
	if (!error && range && !is_known)
		error = open_part(range, &reader, w);
	if (error) {
		range_free(range);
		profile_reader_close(reader);
		return error;
	}
	*ret = range;
	*ret_reader = reader;
	return 0;
}
