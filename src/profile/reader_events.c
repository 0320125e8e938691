// SPDX-License-Identifier: MIT
/*
 * Events, one by one, each with what it counts for: a sample with its part of the thread's time,
 * work and calls of bursts with what they stand for; of a part of the recording the pieces that are
 * in it; and behind all the time that no sample stands for.
 */
#include <string.h>

#include "profile/clip.h"
#include "profile/reader_internal.h"

static void count_event(struct profile_reader *r, const struct profile_event *e)
{
	r->events_of[e->kind]++;
	if (e->kind == EVENT_SAMPLE)
		r->cpu_ns += e->sample.period_ns;
	else if (e->kind == EVENT_WORK)
		r->gpu_ns += e->work.duration_ns;
	else if (e->kind == EVENT_STALL)
		r->stall_samples += e->stall.samples;
}

/* Divides the thread's account, and of a part of the recording its time in the kernel, too: as
 * large a part of it as the samples there have. */
static void weigh_sample(const struct profile_reader *r, struct profile_sample *s)
{
	struct cpu_time *a = cpu_times_find(&r->accounts, s->thread);

	s->kernel_ns = 0;
	if (!a)
		return;
	if (r->clip)
		s->kernel_ns = cpu_time_next_kernel_part(
			a, s->period_ns, clip_has_time(r->clip, s->time_ns));
	a->kept_kernel_ns += s->kernel_ns;
	s->period_ns =
		r->skips ? cpu_time_part(a, s->period_ns) : cpu_time_next_part(a, s->period_ns);
}

static void weigh_work(const struct profile_reader *r, struct profile_work *w)
{
	w->burst = bursts_find(&r->bursts, w->instance, w->launch_ns ? w->launch_ns : w->start_ns);
	w->weight = bursts_weight(&r->bursts, w->burst) * (w->stands_for ?: 1);
	w->cut = (struct profile_cut){0};
}

static void weigh_call(const struct profile_reader *r, struct profile_call *c)
{
	c->burst = bursts_find(&r->bursts, c->instance, c->start_ns);
	c->weight = bursts_weight(&r->bursts, c->burst);
	c->cut = (struct profile_cut){0};
}

static void weigh_pending(const struct profile_reader *r, struct profile_pending *p)
{
	p->weight = bursts_weight(&r->bursts, bursts_find(&r->bursts, p->instance, p->start_ns));
}

static void weigh(const struct profile_reader *r, struct profile_event *e)
{
	if (e->kind == EVENT_SAMPLE)
		weigh_sample(r, &e->sample);
	else if (e->kind == EVENT_WORK)
		weigh_work(r, &e->work);
	else if (e->kind == EVENT_CALL)
		weigh_call(r, &e->call);
	else if (e->kind == EVENT_PENDING)
		weigh_pending(r, &e->pending);
	else if (e->kind == EVENT_DRIVER)
		e->driver.cut = (struct profile_cut){0};
	else if (e->kind == EVENT_WAIT)
		e->wait.cut = (struct profile_cut){0};
	else if (e->kind == EVENT_SYNC)
		e->sync.cut = (struct profile_cut){0};
	else if (e->kind == EVENT_MARKER)
		e->marker.cut = (struct profile_cut){0};
}

/* How much of such a time is in the part of the recording that is read. Where it was is not known:
 * of a thread without samples it is spread over the time until the thread ended. */
static uint64_t unsampled_inside(
	const struct profile_reader *r, const struct cpu_time *a, const struct profile_sample *s)
{
	if (!r->clip)
		return s->period_ns;
	if (!clip_has_thread(r->clip, s->thread) || r->clip->devices)
		return 0;
	if (a->periods_ns)
		return a->kept_kernel_ns;
	return clip_share(r->clip, profile_meta_number(r, META_START_NS, s->time_ns), s->time_ns,
		s->period_ns);
}

/* Time that no sample stands for, behind all events. The n-th is of thread n / 2. */
static bool unsampled_at(const struct profile_reader *r, uint64_t n, struct profile_sample *ret)
{
	const struct cpu_time *a = cpu_times_find(&r->accounts, (uint32_t)(n / 2));
	bool kernel = n % 2;

	if (!a || (!kernel && a->periods_ns))
		return false;
	*ret = (struct profile_sample){
		.time_ns = a->is.end_ns,
		.period_ns = kernel ? a->is.kernel_ns : a->is.run_ns - a->is.kernel_ns,
		.thread = (uint32_t)(n / 2),
		.kind = kernel ? SAMPLE_KERNEL : SAMPLE_ABSENT,
	};
	ret->period_ns = unsampled_inside(r, a, ret);
	return ret->period_ns;
}

static int next_unsampled(struct profile_reader *r, struct profile_event *ret)
{
	uint64_t threads = r->tables->counts[TABLE_THREADS];

	ret->kind = EVENT_SAMPLE;
	while (r->unsampled / 2 < r->accounts.count && r->unsampled / 2 <= threads)
		if (unsampled_at(r, r->unsampled++, &ret->sample))
			return 1;
	return 0;
}

/* The next event of the whole recording. */
static int next_event(struct profile_reader *r, struct profile_event *ret)
{
	int got;

	for (;;) {
		while (r->event < r->events_end) {
			got = event_decode(&r->coder, &r->event, r->events_end, ret);
			if (got < 0 || (got > 0 && !event_is_valid(ret, r->tables->counts)))
				return profile_reader_stop_damaged(
					r, "holds an event that makes no sense");
			if (got) {
				count_event(r, ret);
				weigh(r, ret);
				return 1;
			}
		}
		if (r->done)
			return next_unsampled(r, ret);
		got = profile_reader_next_chunk(r);
		if (got < 0)
			return got;
	}
}

static bool is_unsampled(const struct profile_event *e)
{
	return e->kind == EVENT_SAMPLE && e->sample.kind != SAMPLE_SEEN;
}

static int next_piece(struct profile_reader *r, struct profile_event *ret)
{
	for (;;) {
		int got;

		if (r->in_pieces && clip_next_piece(r->clip, &r->whole, &r->span, ret))
			return 1;
		r->in_pieces = false;
		got = next_event(r, &r->whole);
		if (got <= 0)
			return got;
		if (is_unsampled(&r->whole) || r->clip->uncut) {
			*ret = r->whole;
			return 1;
		}
		r->in_pieces = clip_selects(r->clip, r, &r->whole);
		r->span = 0;
	}
}

int profile_reader_next(struct profile_reader *r, struct profile_event *ret)
{
	return r->clip ? next_piece(r, ret) : next_event(r, ret);
}

void profile_reader_clip(struct profile_reader *r, const struct profile_clip *clip)
{
	r->clip = clip;
}

const struct profile_clip *profile_reader_clip_of(const struct profile_reader *r)
{
	return r->clip;
}

uint64_t profile_reader_chunk(const struct profile_reader *r)
{
	return r->start;
}

void profile_reader_skip(
	struct profile_reader *r, bool (*skips)(const void *arg, uint64_t chunk), const void *arg)
{
	r->skips = skips;
	r->skips_arg = arg;
}
