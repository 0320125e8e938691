// SPDX-License-Identifier: MIT
#include "view/wall/stretch.h"

#include "base/error.h"

/* How much of it the thread was in GPU waits. */
static uint64_t inside(
	const struct wall_events *e, uint32_t thread, uint64_t start_ns, uint64_t end_ns)
{
	const struct gpu_wait *w = wall_events_gpu_wait(e, thread, start_ns);
	const struct gpu_wait *end = w ? e->gpu_waits.items + e->gpu_waits.count : NULL;
	uint64_t sum = 0;

	for (; w < end && w->thread == thread && w->start_ns < end_ns; w++)
		sum += (w->end_ns < end_ns ? w->end_ns : end_ns) -
		       (w->start_ns > start_ns ? w->start_ns : start_ns);
	return sum;
}

static int hand_amount(
	struct wall_events *e, enum wall_kind kind, uint32_t key, uint64_t time_ns, uint64_t amount)
{
	return amount ? e->receiver->amount(e->receiver->arg, kind, key, time_ns, amount) : 0;
}

/* A piece of a wait that is outside of GPU waits. */
static int hand_piece(struct wall_events *e, const struct wall_wait *w, uint32_t key,
	uint64_t from_ns, uint64_t to_ns)
{
	int error;

	if (from_ns >= to_ns)
		return 0;
	error = wall_add_up(&e->threads.items[w->thread].outside_ns, to_ns - from_ns);
	return error ?: e->receiver->waited(e->receiver->arg, key, w->assumed, from_ns, to_ns);
}

/* What of it is outside of GPU waits. */
static int hand_outside(struct wall_events *e, const struct wall_wait *w, uint32_t key,
	uint64_t start_ns, uint64_t end_ns)
{
	const struct gpu_wait *g = wall_events_gpu_wait(e, w->thread, start_ns);
	const struct gpu_wait *end = g ? e->gpu_waits.items + e->gpu_waits.count : NULL;
	int error = 0;

	for (; !error && g < end && g->thread == w->thread && g->start_ns < end_ns; g++) {
		error = hand_piece(e, w, key, start_ns, g->start_ns);
		start_ns = g->end_ns;
	}
	return error ?: hand_piece(e, w, key, start_ns, end_ns);
}

static int hand_queued(struct wall_events *e, const struct wall_wait *w)
{
	struct gather_key queue = e->keys.items.items[w->key];
	uint32_t key = 0;
	int error;

	if (w->queued_from_ns >= w->end_ns)
		return 0;
	queue.reason = WAIT_RUN_QUEUE;
	error = keys_add(&e->keys, &queue, &key);
	return error ?: hand_outside(e, w, key, w->queued_from_ns, w->end_ns);
}

static int sum_wait(struct wall_events *e, const struct wall_wait *w)
{
	struct wall_thread *t = &e->threads.items[w->thread];
	uint64_t in = inside(e, w->thread, w->start_ns, w->queued_from_ns) +
		      inside(e, w->thread, w->queued_from_ns, w->end_ns);
	uint64_t length = w->end_ns - w->start_ns, others_in = 0;
	int error;

	if (length)
		others_in = (uint64_t)((unsigned __int128)w->others_ns * in / length);
	error = wall_add_up(&t->inside_ns, in);
	error = error ?: wall_add_up(&t->others_inside_ns, others_in);
	error = error ?: wall_add_up(&t->others_outside_ns, w->others_ns - others_in);
	error = error ?: hand_outside(e, w, w->key, w->start_ns, w->queued_from_ns);
	error = error ?: hand_queued(e, w);
	error = error ?: hand_amount(e, WALL_OTHERS_INSIDE, w->key, w->start_ns, others_in);
	return error
		       ?: hand_amount(e, WALL_OTHERS_OUTSIDE, w->key, w->start_ns,
				  w->others_ns - others_in);
}

/* When it was is not known of what no sample stands for: it is spread over the time until then. */
static int hand_sample(struct wall_events *e, const struct wall_sample *s, bool seen)
{
	const struct wall_thread *t = &e->threads.items[s->thread];
	uint64_t start_ns = t->has_life ? t->from_ns
					: profile_meta_number(e->reader, META_START_NS, s->time_ns);

	if (seen || !s->period_ns)
		return hand_amount(e, WALL_RUNNING, s->key, s->time_ns, s->period_ns);
	return e->receiver->spread(e->receiver->arg, s->key, start_ns, s->time_ns, s->period_ns);
}

static int sum_sample(struct wall_events *e, const struct wall_sample *s)
{
	const struct gpu_wait *w = wall_events_gpu_wait(e, s->thread, s->time_ns);
	struct wall_thread *t = &e->threads.items[s->thread];
	uint32_t kind = e->keys.items.items[s->key].reason;

	if (w && w->start_ns <= s->time_ns)
		return 0;
	/* It has another note. */
	if (kind == SAMPLE_ABSENT && t->has_life)
		return 0;
	return wall_add_up(&t->samples_ns, s->period_ns) ?: hand_sample(e, s, kind == SAMPLE_SEEN);
}

/* Part of a wait, with the number of the work that it was for. */
static int hand_gpu(void *events, uint64_t key, uint64_t from_ns, uint64_t to_ns)
{
	struct wall_events *e = events;
	uint32_t what = (uint32_t)key, number = 0;
	int error = 0;

	if (what >= GPU_WAIT_WORK) {
		error = wall_events_work_key(e, what - GPU_WAIT_WORK, &number);
		what = GPU_WAIT_WORK + number;
	}
	return error ?: e->receiver->gpu(e->receiver->arg, key >> 32 << 32 | what, from_ns, to_ns);
}

/* The list has an entry for every thread. */
static int add_known_threads(struct wall_events *e)
{
	uint32_t count = profile_counts(e->reader).threads;

	while (e->threads.count <= count)
		if (vec_push(&e->threads, (struct wall_thread){.to_ns = UINT64_MAX}))
			return error_memory("the threads");
	return 0;
}

int wall_stretch_sum(struct wall_events *e)
{
	const struct gpu_wait_parts parts = {e, hand_gpu};
	int error = add_known_threads(e);

	for (size_t n = 0; !error && n < e->waits.count; n++)
		error = sum_wait(e, &e->waits.items[n]);
	for (size_t n = 0; !error && n < e->samples.count; n++)
		error = sum_sample(e, &e->samples.items[n]);
	for (size_t n = 0; !error && n < e->gpu_waits.count; n++) {
		const struct gpu_wait *w = &e->gpu_waits.items[n];

		error = wall_add_up(&e->threads.items[w->thread].gpu_ns, w->end_ns - w->start_ns);
	}
	return error
		       ?: gpu_waits_divide(e->gpu_waits.items, e->gpu_waits.count, e->runs.items,
				  e->runs.count, e->lanes.items, e->lanes.count, &parts);
}
