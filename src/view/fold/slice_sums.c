// SPDX-License-Identifier: MIT
#include "view/fold/slice_sums.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/nice.h"
#include "base/search.h"
#include "profile/reader.h"
#include "view/fold/event_nodes.h"
#include "view/fold/pair_sums.h"

#define SUBJECT	   "the sums of the recording"
#define SLICES	   4096
#define SUMS_MAX   ((size_t)3 << 20) /* of 16 bytes */
#define SUMS_MORE  2 /* times as many, where joining slices makes them hardly fewer */
#define SLICES_MIN 16
#define KEYS_MAX   ((size_t)2 << 20) /* of either half: of 28 bytes, and their index */
#define STALLS_MAX 64 /* reasons of a window that are added up before they are spread */

static const struct profile_span always = {0, UINT64_MAX};
const struct profile_clip slice_sums_clip = {.spans = &always, .span_count = 1};

static int short_memory(void)
{
	return error_memory(SUBJECT);
}

static void release_slice(struct slice *slice)
{
	vec_release(&slice->sums);
	vec_release(&slice->calls);
}

static void release_slices(struct slice *items, uint32_t count)
{
	for (uint32_t i = 0; items && i < count; i++)
		release_slice(&items[i]);
	free(items);
}

void slice_sums_release(struct slice_sums *s)
{
	release_slices(s->items, s->count);
	free(s->spans);
	event_sums_release(&s->all);
	vec_release(&s->spreads);
	vec_release(&s->sampled);
	vec_release(&s->stalls);
	*s = (struct slice_sums){0};
}

/* ------------------------------------------------------------------ slices */

/* Where the slices lie: `inner` of them between what is before and what is behind. */
static int place_slices(struct slice_sums *s, uint32_t inner)
{
	struct profile_span *spans = calloc((size_t)inner + 2, sizeof(*spans));

	if (!spans)
		return short_memory();
	spans[0].to_ns = s->start_ns;
	for (uint32_t i = 1; i <= inner; i++) {
		spans[i].from_ns = spans[i - 1].to_ns;
		spans[i].to_ns = s->width_ns < UINT64_MAX - spans[i].from_ns
					 ? spans[i].from_ns + s->width_ns
					 : UINT64_MAX;
	}
	spans[inner + 1] = (struct profile_span){spans[inner].to_ns, UINT64_MAX};
	free(s->spans);
	s->spans = spans;
	s->cut = (struct profile_clip){.spans = spans, .span_count = (size_t)inner + 2};
	return 0;
}

static int make_slices(uint32_t count, struct slice **ret)
{
	*ret = calloc(count, sizeof(**ret));
	return *ret ? 0 : short_memory();
}

int slice_sums_init(struct slice_sums *s, uint64_t start_ns, uint64_t end_ns)
{
	uint64_t length = end_ns > start_ns ? end_ns - start_ns : 1;
	uint32_t inner;
	int error;

	s->start_ns = start_ns;
	s->keys_max = KEYS_MAX;
	s->sums_max = SUMS_MAX;
	s->width_ns = nice_above(length / SLICES + 1);
	inner = (uint32_t)((length - 1) / s->width_ns + 1);
	error = event_sums_init(&s->all);
	error = error ?: place_slices(s, inner);
	s->count = error ? 0 : inner + 2;
	return error ?: make_slices(s->count, &s->items);
}

static int put_all(struct slice_sums *s, struct event_sum_list *to,
	const struct event_sum_list *from, const uint32_t *code_numbers)
{
	int error = 0;

	vec_foreach (sum, from) {
		struct event_sum same = *sum;

		if (code_numbers)
			same.pair.code = code_numbers[sum->pair.code];
		error = error ?: event_sums_put(&s->all, to, same);
	}
	return error;
}

/* What is before and behind stays. */
int slice_sums_join(struct slice_sums *s)
{
	uint64_t factor = nice_factor(s->width_ns);
	uint32_t inner = (uint32_t)((s->count - 2 + factor - 1) / factor), last = s->count - 1;
	struct slice *joined = NULL;
	int error;

	if (s->count - 2 <= SLICES_MIN)
		return 0;
	error = make_slices(inner + 2, &joined);
	if (error)
		return error;
	s->all.sums = 0;
	for (uint32_t i = 0; !error && i <= last; i++) {
		uint32_t to = !i ? 0 : i < last ? 1 + (uint32_t)((i - 1) / factor) : inner + 1;

		error = put_all(s, &joined[to].sums, &s->items[i].sums, NULL);
		error = error ?: put_all(s, &joined[to].calls, &s->items[i].calls, NULL);
		release_slice(&s->items[i]);
	}
	if (error) {
		release_slices(joined, inner + 2);
		return error;
	}
	release_slices(s->items, s->count);
	s->items = joined;
	s->count = inner + 2;
	s->width_ns *= factor;
	return place_slices(s, inner);
}

/* ------------------------------------------------------------------ keys */

static void leave_calls_out(struct slice_sums *s)
{
	s->callless = true;
	for (uint32_t i = 0; i < s->count; i++) {
		s->all.sums -= s->items[i].calls.count;
		vec_release(&s->items[i].calls);
	}
}

static int renumber(struct slice_sums *s, const uint32_t *code_numbers)
{
	int error = 0;

	s->all.sums = 0;
	for (uint32_t i = 0; !error && i < s->count; i++) {
		struct slice whole = s->items[i];

		s->items[i] = (struct slice){0};
		error = put_all(s, &s->items[i].sums, &whole.sums, code_numbers);
		error = error ?: put_all(s, &s->items[i].calls, &whole.calls, code_numbers);
		release_slice(&whole);
	}
	return error;
}

static int leave_stacks_out(struct slice_sums *s)
{
	struct keys whole = s->all.keys.codes;
	uint32_t *numbers = malloc((whole.items.count + 1) * sizeof(*numbers));
	int error = numbers ? 0 : short_memory();

	s->all.keys.codes = (struct keys){0};
	event_keys_settle(&s->all.keys);
	s->stackless = true;
	for (size_t n = 0; !error && n < whole.items.count; n++) {
		struct gather_key code = whole.items.items[n];

		code.stack = code.node_stack = 0;
		error = keys_add(&s->all.keys.codes, &code, &numbers[n]);
	}
	keys_release(&whole);
	error = error ?: renumber(s, numbers);
	free(numbers);
	return error;
}

/* Too many, even so. */
static void give_up(struct slice_sums *s)
{
	for (uint32_t i = 0; i < s->count; i++)
		release_slice(&s->items[i]);
	event_keys_release(&s->all.keys);
	vec_release(&s->spreads);
	s->all.sums = 0;
	s->overflow = true;
}

static bool has_too_many_keys(const struct slice_sums *s)
{
	return s->all.keys.codes.items.count > s->keys_max ||
	       s->all.keys.rests.items.count > s->keys_max;
}

static int limit_keys(struct slice_sums *s)
{
	int error = 0;

	if (s->all.keys.codes.items.count > s->keys_max && !s->stackless)
		error = leave_stacks_out(s);
	if (!error && has_too_many_keys(s))
		give_up(s);
	return error;
}

/* Also of the fewest slices: one each for most codes. */
static bool is_beyond_joining(const struct slice_sums *s)
{
	return s->count - 2 <= SLICES_MIN ||
	       s->all.keys.codes.items.count > s->sums_max / SLICES_MIN;
}

static int limit_sums(struct slice_sums *s)
{
	int error = 0;

	while (!error && s->all.sums > s->sums_max) {
		if (!s->callless && is_beyond_joining(s)) {
			s->sums_max *= SUMS_MORE;
			leave_calls_out(s);
		} else if (s->count - 2 > SLICES_MIN) {
			error = slice_sums_join(s);
		} else if (!s->stackless) {
			error = leave_stacks_out(s);
		} else {
			give_up(s);
		}
	}
	return error;
}

/* ------------------------------------------------------------------ events */

static bool has_too_many(const struct slice_sums *s)
{
	return has_too_many_keys(s) || s->all.sums > s->sums_max;
}

/* What waits has numbers of the slices that there are now. */
static int limit(struct slice_sums *s)
{
	int error = s->overflow ? 0 : event_sums_rest(&s->all);

	error = error || s->overflow ? error : limit_keys(s);
	return error || s->overflow ? error : limit_sums(s);
}

static int add_sum(struct slice_sums *s, uint32_t slice, const struct gather_key *whole,
	uint64_t time_ns, uint32_t count)
{
	struct slice *to = &s->items[slice];
	struct gather_key key = *whole;

	if (s->stackless)
		key.stack = key.node_stack = 0;
	s->overflow |= __builtin_add_overflow(s->total_ns, time_ns, &s->total_ns);
	return s->overflow
		       ? 0
		       : event_sums_add(&s->all, key.event == EVENT_CALL ? &to->calls : &to->sums,
				 &key, time_ns, count);
}

static uint32_t slice_at(const struct slice_sums *s, uint64_t time_ns)
{
	uint64_t n;

	if (time_ns < s->start_ns)
		return 0;
	n = (time_ns - s->start_ns) / s->width_ns + 1;
	return n < s->count - 1 ? (uint32_t)n : s->count - 1;
}

static int note_sampled(struct slice_sums *s, uint32_t thread)
{
	size_t known = s->sampled.count;

	if (thread >= known) {
		if (vec_reserve(&s->sampled, thread + 1 - known))
			return short_memory();
		memset(s->sampled.items + known, 0,
			(thread + 1 - known) * sizeof(*s->sampled.items));
		s->sampled.count = (size_t)thread + 1;
	}
	s->sampled.items[thread] = true;
	return 0;
}

static bool is_sampled(const struct slice_sums *s, uint32_t thread)
{
	return thread < s->sampled.count && s->sampled.items[thread];
}

/* What samples have of the time in the kernel was added with them. */
static int add_unsampled(
	struct slice_sums *s, const struct profile_sample *sample, const struct gather_key *key)
{
	const struct slice_spread spread = {*key, sample->time_ns, sample->period_ns};

	if (sample->kind == SAMPLE_KERNEL && is_sampled(s, sample->thread))
		return 0;
	return vec_push(&s->spreads, spread) ? short_memory() : 0;
}

static int add_sample(
	struct slice_sums *s, const struct profile_sample *sample, const struct gather_key *key)
{
	const struct gather_key kernel = {
		.event = EVENT_SAMPLE, .reason = SAMPLE_KERNEL, .thread = sample->thread};
	uint32_t slice = slice_at(s, sample->time_ns);
	int error = note_sampled(s, sample->thread);

	error = error ?: add_sum(s, slice, key, sample->period_ns, 1);
	if (!error && sample->kernel_ns)
		error = add_sum(s, slice_at(s, sample->time_ns), &kernel, sample->kernel_ns, 0);
	return error;
}

/* Most work lies in one slice. */
static int add_work(
	struct slice_sums *s, const struct profile_event *e, const struct gather_key *key)
{
	const struct profile_work *w = &e->work;
	uint32_t slice = slice_at(s, w->start_ns);
	struct profile_event piece;
	size_t span = 0;
	int error = 0;

	if (w->duration_ns <= s->spans[slice].to_ns - w->start_ns)
		return add_sum(s, slice, key, profile_work_ns(w), 1);
	while (!error && clip_next_piece(&s->cut, e, &span, &piece))
		error = add_sum(s, slice_at(s, piece.work.start_ns), key,
			profile_work_ns(&piece.work), !piece.work.cut.continued);
	return error;
}

static int add_wait_time(
	struct slice_sums *s, uint32_t slice, const struct gather_key *key, uint64_t time_ns)
{
	return time_ns ? add_sum(s, slice, key, time_ns, 1) : 0;
}

static int add_wait_piece(
	struct slice_sums *s, const struct profile_wait *w, const struct gather_key *whole)
{
	const struct gather_key apportioned = {.event = EVENT_WAIT, .thread = w->thread};
	uint32_t slice = slice_at(s, w->start_ns);
	struct gather_key key = *whole;
	uint64_t time_ns;
	int error;

	s->overflow |= __builtin_add_overflow(w->duration_ns, w->others_ns, &time_ns);
	error = add_wait_time(s, slice, &key, time_ns - w->queued_ns);
	key.reason = WAIT_RUN_QUEUE;
	error = error ?: add_wait_time(s, slice, &key, w->queued_ns);
	if (!error && w->stack)
		error = add_wait_time(
			s, slice, &apportioned, w->others_ns + (w->assumed ? w->duration_ns : 0));
	return error;
}

static int add_wait(
	struct slice_sums *s, const struct profile_event *e, const struct gather_key *key)
{
	struct profile_event piece;
	size_t span = 0;
	int error = 0;

	while (!error && clip_next_piece(&s->cut, e, &span, &piece))
		error = add_wait_piece(s, &piece.wait, key);
	return error;
}

/* How much of so many samples lies before a time. */
static uint64_t passed(const struct profile_span *window, uint64_t samples, uint64_t time_ns)
{
	uint64_t length_ns = window->to_ns - window->from_ns;

	if (time_ns >= window->to_ns)
		return samples;
	if (time_ns <= window->from_ns)
		return 0;
	return (uint64_t)((unsigned __int128)samples * (time_ns - window->from_ns) / length_ns);
}

static int spread_stalls(
	struct slice_sums *s, const struct profile_span *window, const struct slice_stalls *stalls)
{
	const struct gather_key key = {.event = EVENT_STALL, .reason = stalls->reason};
	uint64_t given = 0, until;
	int error = 0;

	for (uint32_t n = slice_at(s, window->from_ns); !error && given < stalls->samples; n++) {
		until = n < s->count - 1 ? passed(window, stalls->samples, s->spans[n].to_ns)
					 : stalls->samples;
		if (until > given)
			error = add_sum(s, n, &key, until - given, 0);
		given = until;
	}
	return error;
}

static int spread_all_stalls(struct slice_sums *s, const struct profile_reader *r)
{
	const struct profile_window *w = s->stalls.count ? profile_window(r, s->window) : NULL;
	const struct profile_span window = {
		w ? w->start_ns : s->start_ns, w && w->end_ns > w->start_ns ? w->end_ns : 0};
	int error = 0;

	vec_foreach (stalls, &s->stalls)
		error = error ?: spread_stalls(s, &window, stalls);
	s->stalls.count = 0;
	return error;
}

/* Those of a window come together. */
static int add_stall(
	struct slice_sums *s, const struct profile_reader *r, const struct profile_stall *e)
{
	const struct slice_stalls new = {e->reason, e->samples};
	int error;

	if (e->window != s->window || s->stalls.count >= STALLS_MAX) {
		error = spread_all_stalls(s, r);
		if (error)
			return error;
	}
	s->window = e->window;
	vec_foreach (known, &s->stalls) {
		if (known->reason != e->reason)
			continue;
		s->overflow |= __builtin_add_overflow(known->samples, e->samples, &known->samples);
		return 0;
	}
	return vec_push(&s->stalls, new) ? short_memory() : 0;
}

static int add_event(struct slice_sums *s, const struct profile_event *e)
{
	struct gather_key key = event_whole_key(e);

	switch (e->kind) {
	case EVENT_SAMPLE:
		return e->sample.kind == SAMPLE_SEEN ? add_sample(s, &e->sample, &key)
						     : add_unsampled(s, &e->sample, &key);
	case EVENT_CALL:
		return s->callless ? 0 : add_sum(s, slice_at(s, e->call.start_ns), &key, 0, 1);
	case EVENT_WORK:
		return add_work(s, e, &key);
	case EVENT_PENDING:
		return add_sum(s, slice_at(s, e->pending.start_ns), &key, 0, 1);
	case EVENT_WAIT:
		return add_wait(s, e, &key);
	default:
		return 0;
	}
}

static bool has_sums(const struct profile_event *e)
{
	return e->kind <= EVENT_PENDING || e->kind == EVENT_WAIT;
}

int slice_sums_add(
	struct slice_sums *s, const struct profile_reader *r, const struct profile_event *e)
{
	int error = 0;

	if (s->overflow)
		return 0;
	if (e->kind == EVENT_STALL)
		error = add_stall(s, r, &e->stall);
	else if (has_sums(e) && !(e->kind == EVENT_CALL && e->call.kind == CALL_SYNC))
		error = add_event(s, e);
	return error || !has_too_many(s) ? error : limit(s);
}

/* Room for more that does not come. */
static void shrink(struct event_sum_list *v)
{
	struct event_sum *items = v->count ? realloc(v->items, v->count * sizeof(*items)) : NULL;

	if (!items)
		return;
	v->items = items;
	v->capacity = v->count;
}

int slice_sums_finish(struct slice_sums *s, const struct profile_reader *r)
{
	int error = s->overflow ? 0 : spread_all_stalls(s, r);

	error = error ?: limit(s);
	event_sums_settle(&s->all);
	for (uint32_t i = 0; !error && i < s->count; i++) {
		shrink(&s->items[i].sums);
		shrink(&s->items[i].calls);
	}
	malloc_trim(0);
	return error;
}

/* ------------------------------------------------------------------ parts */

static void divide(struct slice_part *p, struct profile_span range)
{
	const struct slice_sums *s = p->sums;
	uint32_t first =
		(uint32_t)search_first(i, 0, s->count, s->spans[i].from_ns >= range.from_ns);
	uint32_t end = (uint32_t)search_first(i, 0, s->count, s->spans[i].to_ns > range.to_ns);
	size_t rest = 0;

	if (first >= end) {
		p->first = p->end = 0;
		p->rest[rest++] = range;
	} else {
		p->first = first;
		p->end = end;
		if (range.from_ns < s->spans[first].from_ns)
			p->rest[rest++] =
				(struct profile_span){range.from_ns, s->spans[first].from_ns};
		if (s->spans[end - 1].to_ns < range.to_ns)
			p->rest[rest++] =
				(struct profile_span){s->spans[end - 1].to_ns, range.to_ns};
	}
	p->clip.spans = p->rest;
	p->clip.span_count = rest;
}

void slice_part_begin(struct slice_part *p, const struct slice_sums *s, struct profile_reader *r)
{
	const struct profile_clip *whole = profile_reader_clip_of(r);

	*p = (struct slice_part){.reader = r, .whole = whole};
	if (!s || (whole && whole->span_count != 1))
		return;
	p->sums = s;
	if (whole)
		p->clip = *whole;
	p->clip.chunks = s->chunks;
	divide(p, whole ? whole->spans[0] : always);
	profile_reader_clip(r, &p->clip);
}

bool slice_part_has(const struct slice_part *p, const struct gather_key *key)
{
	const struct profile_op *op = profile_op(p->reader, key->op);

	return !p->whole ||
	       (clip_has_thread(p->whole, key->thread) &&
		       (!p->whole->devices || clip_has_device(p->whole, op ? op->device : 0)));
}

static int hand(const struct slice_part *p, const struct gather_sum *sum,
	int (*handle)(void *arg, const struct gather_sum *sum), void *arg)
{
	if ((!sum->time_ns && !sum->count) || sum->key.event == EVENT_STALL ||
		!slice_part_has(p, &sum->key))
		return 0;
	return handle(arg, sum);
}

int slice_part_spreads(const struct slice_part *p,
	int (*handle)(void *arg, const struct gather_sum *sum), void *arg)
{
	const struct slice_sums *s = p->sums;
	struct profile_span span = {0};
	const struct profile_clip inside = {.spans = &span, .span_count = 1};
	int error = 0;

	if (!s || p->first >= p->end)
		return 0;
	span = (struct profile_span){s->spans[p->first].from_ns, s->spans[p->end - 1].to_ns};
	vec_foreach (spread, &s->spreads) {
		struct gather_sum sum = {.key = spread->key};
		uint64_t start_ns = profile_meta_number(p->reader, META_START_NS, spread->end_ns);

		sum.time_ns = clip_share(&inside, start_ns, spread->end_ns, spread->time_ns);
		error = hand(p, &sum, handle, arg);
		if (error)
			break;
	}
	return error;
}

/* By rest; NULL where none is. */
static int find_wanted(const struct slice_part *p, bool **ret)
{
	const struct keys *rests = &p->sums->all.keys.rests;
	bool *wanted = calloc(rests->items.count + 1, sizeof(*wanted)), any = false;

	if (!wanted)
		return short_memory();
	for (size_t n = 0; n < rests->items.count; n++) {
		wanted[n] = !p->events || p->events >> rests->items.items[n].event & 1;
		any = any || wanted[n];
	}
	if (!any) {
		free(wanted);
		wanted = NULL;
	}
	*ret = wanted;
	return 0;
}

static int add_up(const struct event_sum_list *from, const bool *wanted, struct pair_sums *sums)
{
	int error = 0;

	vec_foreach (sum, from)
		if (wanted[sum->pair.rest])
			error = error
					?: pair_sums_add(sums,
						   (struct pair_sum){sum->pair.code, sum->pair.rest,
							   sum->time_ns, sum->count, 0});
	return error;
}

static int add_up_all(const struct slice_part *p, const bool *wanted, struct pair_sums *sums)
{
	int error = 0;

	for (uint32_t i = p->first; !error && i < p->end; i++) {
		error = add_up(&p->sums->items[i].sums, wanted, sums);
		error = error ?: add_up(&p->sums->items[i].calls, wanted, sums);
	}
	return error;
}

int slice_part_each(const struct slice_part *p,
	int (*handle)(void *arg, const struct gather_sum *sum), void *arg)
{
	struct pair_sums sums = {0};
	const struct pair_sum *sum;
	bool *wanted = NULL;
	size_t n = 0;
	int error;

	if (!p->sums || p->first >= p->end)
		return 0;
	error = find_wanted(p, &wanted);
	if (!error && wanted)
		error = add_up_all(p, wanted, &sums);
	while (!error && (sum = pair_sums_next(&sums, &n))) {
		const struct event_pair pair = {sum->first, sum->second};
		const struct gather_sum whole = {
			event_keys_at(&p->sums->all.keys, pair), sum->count, sum->time_ns};

		error = hand(p, &whole, handle, arg);
	}
	free(wanted);
	pair_sums_release(&sums);
	return error ?: slice_part_spreads(p, handle, arg);
}
