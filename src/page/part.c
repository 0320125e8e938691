// SPDX-License-Identifier: MIT
#include "page/part.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "page/repeats_json.h"

#define SUBJECT "the iterations"

struct spans vec(struct profile_span);

static int by_begin(const void *left, const void *right)
{
	const struct profile_span *a = left, *b = right;

	if (a->from_ns != b->from_ns)
		return a->from_ns < b->from_ns ? -1 : 1;
	return a->to_ns < b->to_ns ? -1 : a->to_ns > b->to_ns;
}

/* In their order, and one where they overlap or touch. */
static void join(struct part_side *s)
{
	struct profile_span *spans = s->spans.items;
	size_t kept = 0;

	if (s->spans.count)
		qsort(spans, s->spans.count, sizeof(*spans), by_begin);
	for (size_t n = 0; n < s->spans.count; n++) {
		struct profile_span *last = &spans[kept ? kept - 1 : 0];

		if (kept && spans[n].from_ns <= last->to_ns)
			last->to_ns = spans[n].to_ns > last->to_ns ? spans[n].to_ns : last->to_ns;
		else
			spans[kept++] = spans[n];
	}
	s->spans.count = kept;
}

/* What of the others is not in these. */
static int take_from_others(struct part *p)
{
	const struct part_side *these = &p->these;
	struct spans left = {0};
	size_t first = 0;
	int error = 0;

	vec_foreach (other, &p->others.spans) {
		struct profile_span rest = *other, piece;

		while (first < these->spans.count &&
			these->spans.items[first].to_ns <= rest.from_ns)
			first++;
		for (size_t n = first; !error && rest.from_ns < rest.to_ns; n++) {
			bool cut = n < these->spans.count &&
				   these->spans.items[n].from_ns < rest.to_ns;

			piece = rest;
			piece.to_ns = cut ? these->spans.items[n].from_ns : rest.to_ns;
			rest.from_ns = cut ? these->spans.items[n].to_ns : rest.to_ns;
			if (piece.from_ns < piece.to_ns && vec_push(&left, piece))
				error = error_memory(SUBJECT);
		}
	}
	vec_release(&p->others.spans);
	p->others.spans.items = left.items;
	p->others.spans.count = left.count;
	p->others.spans.capacity = left.capacity;
	return error;
}

static int divide(struct part *p, const struct repeats *all, const struct repeats_wanted *w)
{
	vec_foreach (one, &all->longest) {
		bool is_one = one->length_ns >= w->at_least_ns && one->length_ns < w->below_ns;
		struct part_side *side = is_one ? &p->these : &p->others;
		struct profile_span span = {one->start_ns, one->start_ns + one->length_ns};

		side->count++;
		if (span.from_ns < span.to_ns && vec_push(&side->spans, span))
			return error_memory(SUBJECT);
	}
	join(&p->these);
	join(&p->others);
	return take_from_others(p);
}

/* "12 launches of 'gemm' of at least 20 ms" */
static int describe(struct part_side *side, const struct repeats_wanted *w, const char *which)
{
	static const char *const words[] = {
		[REPEATS_LAUNCHES] = "launches of",
		[REPEATS_PERIODS] = "times from launch to launch of",
		[REPEATS_MARKERS] = "markers",
	};
	char count[TEXT_CELL], length[TEXT_CELL];
	struct buf b = BUF_INIT;

	buf_printf(
		&b, "%s %s%s '%s'", text_count(count, side->count), which, words[w->of], w->name);
	if (w->at_least_ns)
		buf_printf(&b, "%s of at least %s", *which ? ", not" : "",
			text_duration(length, w->at_least_ns));
	if (w->below_ns < UINT64_MAX)
		buf_printf(&b, "%s below %s", *which && !w->at_least_ns ? ", not" : "",
			text_duration(length, w->below_ns));
	side->text = b.failed ? NULL : strdup(buf_text(&b));
	buf_release(&b);
	return side->text ? 0 : error_memory(SUBJECT);
}

static int set_spans(const struct part_side *side, struct range_wanted *ret)
{
	if (!side->spans.count)
		return error_set(-ENOENT, "there are no %s here", side->text);
	ret->from = ret->to = NULL;
	ret->spans = side->spans.items;
	ret->span_count = side->spans.count;
	ret->spans_are = side->text;
	return 0;
}

static int read_iterations(
	struct part *p, struct recording *r, const struct http_request *q, struct range_wanted *ret)
{
	struct repeats_wanted wanted = {0}, all_wanted;
	struct repeats all = {0};
	int error = repeats_asked(q, recording_now(r), &wanted);

	if (!error && !wanted.name)
		error = error_set(-EINVAL, "say which iterations");
	all_wanted = wanted;
	all_wanted.at_least_ns = 0;
	all_wanted.below_ns = UINT64_MAX;
	all_wanted.most = SIZE_MAX;
	error = error ?: recording_repeats(r, &all, &all_wanted);
	error = error ?: divide(p, &all, &wanted);
	repeats_release(&all);
	error = error ?: describe(&p->these, &wanted, "");
	error = error ?: describe(&p->others, &wanted, "other ");
	return error ?: set_spans(&p->these, ret);
}

int part_read(
	struct part *p, struct recording *r, const struct http_request *q, struct range_wanted *ret)
{
	int error = argument_range(q, &p->times, ret);

	p->iterated = argument_flag(q, "iterations");
	return error || !p->iterated ? error : read_iterations(p, r, q, ret);
}

int part_others(const struct part *p, struct range_wanted *ret)
{
	if (!p->iterated)
		return error_set(-EINVAL, "say which iterations");
	return set_spans(&p->others, ret);
}

void part_release(struct part *p)
{
	vec_release(&p->these.spans);
	vec_release(&p->others.spans);
	free(p->these.text);
	free(p->others.text);
}
