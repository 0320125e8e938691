// SPDX-License-Identifier: MIT
/*
 * A reading keeps events as they come, in lists by kind. When it is over, the calls that waited for
 * the GPU are looked for: synchronizing calls have events of their own, calls of copies share a
 * correlation id with their work.
 */
#include "view/wall/events.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/search.h"
#include "view/fold/event_nodes.h"

#define SUBJECT "the events of the wall view"

void wall_events_init(struct wall_events *e, const struct profile_reader *r,
	const struct view_options *o, size_t most, const struct wall_receiver *receiver,
	struct stalls *stalls)
{
	*e = (struct wall_events){.reader = r,
		.options = o,
		.receiver = receiver,
		.most = most,
		.to_ns = UINT64_MAX,
		.stalls = stalls};
}

static void forget_stretch(struct wall_events *e)
{
	e->waits.count = e->samples.count = e->runs.count = e->works.count = 0;
	e->gpu_waits.count = e->calls.count = e->copies.count = 0;
}

void wall_events_release(struct wall_events *e)
{
	keys_release(&e->keys);
	vec_release(&e->launch_of);
	map_release(&e->with_syncs);
	map_release(&e->observed);
	map_release(&e->lane_of_op);
	map_release(&e->lane_ids);
	vec_release(&e->threads);
	vec_release(&e->waits);
	vec_release(&e->samples);
	vec_release(&e->runs);
	vec_release(&e->works);
	vec_release(&e->gpu_waits);
	vec_release(&e->lanes);
	vec_release(&e->calls);
	vec_release(&e->copies);
	chunk_times_release(&e->chunks);
	*e = (struct wall_events){0};
}

static uint64_t end_of(uint64_t start_ns, uint64_t duration_ns)
{
	return duration_ns < UINT64_MAX - start_ns ? start_ns + duration_ns : UINT64_MAX;
}

static bool is_here(const struct wall_events *e, uint64_t start_ns, uint64_t end_ns)
{
	return start_ns < e->to_ns && end_ns > e->from_ns;
}

static void note_time(struct wall_events *e, uint64_t start_ns)
{
	if (start_ns > e->last_ns)
		e->last_ns = start_ns;
}

/* ------------------------------------------------------------------ a stretch that has too many */

static size_t count_kept(const struct wall_events *e)
{
	return e->waits.count + e->samples.count + e->runs.count + e->gpu_waits.count +
	       e->calls.count + e->copies.count;
}

#define EACH_KIND(what)                                                                            \
	what(waits, start_ns) what(samples, time_ns) what(runs, start_ns)                          \
		what(gpu_waits, start_ns) what(calls, start_ns) what(copies, begin_ns)

static void find_range(const struct wall_events *e, uint64_t *ret_first, uint64_t *ret_last)
{
	uint64_t first = UINT64_MAX, last = 0;

#define RANGE_OF(list, time)                                                                       \
	vec_foreach (item, &e->list) {                                                             \
		first = item->time < first ? item->time : first;                                   \
		last = item->time > last ? item->time : last;                                      \
	}
	EACH_KIND(RANGE_OF)
#undef RANGE_OF
	*ret_first = first > e->from_ns ? first : e->from_ns;
	*ret_last = last;
}

static void drop_later(struct wall_events *e)
{
#define DROP_OF(list, time)                                                                        \
	{                                                                                          \
		size_t kept = 0;                                                                   \
		vec_foreach (item, &e->list)                                                       \
			if (item->time < e->to_ns)                                                 \
				e->list.items[kept++] = *item;                                     \
		e->list.count = kept;                                                              \
	}
	EACH_KIND(DROP_OF)
#undef DROP_OF
}

/* Runs are in the order of their works. */
static void drop_works(struct wall_events *e)
{
	for (uint32_t n = 0; n < e->runs.count; n++) {
		e->works.items[n] = e->works.items[e->runs.items[n].key];
		e->runs.items[n].key = n;
	}
	e->works.count = e->runs.count;
}

/* Leaves the later part of the stretch to the next reading. What begins at one time cannot be
 * divided. */
static void cut_short(struct wall_events *e)
{
	e->cut = true;
	while (count_kept(e) > e->most - e->most / 8) {
		uint64_t first, last;

		find_range(e, &first, &last);
		if (last <= first) {
			e->most *= 2;
			break;
		}
		e->to_ns = first + (last - first) / 4 * 3 + 1;
		drop_later(e);
		drop_works(e);
	}
}

/* ------------------------------------------------------------------ events */

int wall_add_up(uint64_t *sum_ns, uint64_t ns)
{
	return __builtin_add_overflow(*sum_ns, ns, sum_ns)
		       ? error_set(-EOVERFLOW, "the times of a thread do not fit 64 bits")
		       : 0;
}

static struct gather_key key_of(const struct wall_events *e, const struct profile_event *event)
{
	return e->options ? event_key(event, e->options) : event_whole_key(event);
}

static int get_thread(struct wall_events *e, uint32_t id, struct wall_thread **ret)
{
	while (e->threads.count <= id)
		if (vec_push(&e->threads, (struct wall_thread){.to_ns = UINT64_MAX}))
			return error_memory(SUBJECT);
	*ret = &e->threads.items[id];
	return 0;
}

/* A thread has one life. Should it come in parts, it lasts from the first to the last. */
static int add_life(struct wall_events *e, const struct profile_life *l)
{
	uint64_t end_ns = end_of(l->start_ns, l->duration_ns);
	struct wall_thread *t;
	int error = get_thread(e, l->thread, &t);

	if (error)
		return error;
	if (!t->has_life || l->start_ns < t->from_ns)
		t->from_ns = l->start_ns;
	if (!t->has_life || end_ns > t->to_ns)
		t->to_ns = end_ns;
	t->has_life = true;
	t->elapsed_ns = t->to_ns - t->from_ns;
	t->run_ns += l->run_ns;
	return 0;
}

static int add_rest(
	struct wall_events *e, const struct profile_wait *w, const struct gather_key *key)
{
	struct wall_thread *t;
	uint32_t id = 0;
	int error = get_thread(e, w->thread, &t);

	error = error ?: wall_add_up(&t->rests_ns, w->others_ns);
	error = error ?: keys_add(&e->keys, key, &id);
	return error
		       ?: e->receiver->amount(
				  e->receiver->arg, WALL_RESTS, id, w->start_ns, w->others_ns);
}

static int add_wait(struct wall_events *e, const struct profile_event *event)
{
	const struct profile_wait *w = &event->wait;
	struct gather_key key = key_of(e, event);
	struct wall_wait wait = {
		.start_ns = w->start_ns,
		.end_ns = end_of(w->start_ns, w->duration_ns),
		.others_ns = w->start_ns >= e->from_ns ? w->others_ns : 0,
		.assumed = w->assumed,
		.thread = w->thread,
	};
	int error;

	note_time(e, w->start_ns);
	if (!w->duration_ns)
		return e->again || !w->others_ns ? 0 : add_rest(e, w, &key);
	if (!is_here(e, wait.start_ns, wait.end_ns))
		return 0;
	wait.queued_from_ns =
		wait.end_ns - (w->queued_ns < w->duration_ns ? w->queued_ns : w->duration_ns);
	error = keys_add(&e->keys, &key, &wait.key);
	if (!error && vec_push(&e->waits, wait))
		error = error_memory(SUBJECT);
	return error;
}

static int add_sample(struct wall_events *e, const struct profile_event *event)
{
	struct gather_key key = key_of(e, event);
	struct wall_sample s = {
		event->sample.time_ns, event->sample.period_ns, event->sample.thread, 0};
	int error;

	note_time(e, s.time_ns);
	if (!is_here(e, s.time_ns, end_of(s.time_ns, 1)))
		return 0;
	error = keys_add(&e->keys, &key, &s.key);
	if (!error && vec_push(&e->samples, s))
		error = error_memory(SUBJECT);
	return error;
}

static bool is_same_lane(const struct gpu_lane *a, const struct gpu_lane *b)
{
	return a->process == b->process && a->device == b->device && a->context == b->context &&
	       a->stream == b->stream && a->any_stream == b->any_stream;
}

static int find_lane(struct wall_events *e, const struct gpu_lane *lane, uint32_t *ret)
{
	uint64_t hash = hash_combine((uint64_t)lane->process << 32 | lane->device,
		((uint64_t)lane->context << 32 | lane->stream) * 2 + lane->any_stream);
	const uint64_t *found;

	while ((found = map_get(&e->lane_ids, hash)) &&
		!is_same_lane(&e->lanes.items[*found], lane))
		hash++;
	*ret = found ? (uint32_t)*found : (uint32_t)e->lanes.count;
	if (!found && (map_put(&e->lane_ids, hash, *ret) || vec_push(&e->lanes, *lane)))
		return error_memory(SUBJECT);
	return 0;
}

static int lane_of(struct wall_events *e, const struct profile_work *w, const struct profile_op *op,
	uint32_t *ret)
{
	uint32_t stream = gpu_waits_stream(w, op);
	bool any_stream = w->graph_node && !stream;
	struct gpu_lane lane = {
		op->process, op->device, op->context, any_stream ? op->stream : stream, any_stream};
	uint64_t key = (uint64_t)w->op << 1 | any_stream;
	const uint64_t *found;
	int error;

	if (lane.stream != op->stream)
		return find_lane(e, &lane, ret);
	found = map_get(&e->lane_of_op, key);
	if (found) {
		*ret = (uint32_t)*found;
		return 0;
	}
	error = find_lane(e, &lane, ret);
	return error || !map_put(&e->lane_of_op, key, *ret) ? error : error_memory(SUBJECT);
}

static int note_launch(struct wall_events *e, const struct gather_key *key)
{
	uint32_t id = 0;
	int error = keys_add(&e->keys, key, &id);

	while (!error && e->launch_of.count <= id)
		if (vec_push(&e->launch_of, 0))
			error = error_memory(SUBJECT);
	if (!error)
		e->launch_of.items[id] = e->stalls->latest + 1;
	return error;
}

static int add_run(
	struct wall_events *e, const struct profile_event *event, const struct profile_op *op)
{
	const struct profile_work *w = &event->work;
	struct gather_key key = key_of(e, event);
	struct gpu_run run = {w->start_ns, end_of(w->start_ns, w->duration_ns), w->launch_ns, 0, 0};
	int error = 0;

	/* Only the first reading numbers the launches of kernels. */
	if (!e->again && e->stalls && op->kind == OP_KERNEL)
		error = note_launch(e, &key);
	if (error || !is_here(e, run.start_ns, run.end_ns))
		return error;
	error = lane_of(e, w, op, &run.lane);
	run.key = (uint32_t)e->works.count;
	if (!error &&
		(vec_push(&e->works, (struct wall_work){.whole = key}) || vec_push(&e->runs, run)))
		error = error_memory(SUBJECT);
	return error;
}

int wall_events_work_key(struct wall_events *e, uint32_t work, uint32_t *ret)
{
	struct wall_work *w = &e->works.items[work];
	int error = 0;

	if (!w->key) {
		error = keys_add(&e->keys, &w->whole, ret);
		w->key = error ? 0 : *ret + 1;
	}
	*ret = w->key - 1;
	return error;
}

static int add_work(struct wall_events *e, const struct profile_event *event)
{
	const struct profile_work *w = &event->work;
	const struct profile_op *op = profile_op(e->reader, w->op);
	uint64_t begin_ns = w->launch_ns && w->launch_ns < w->start_ns ? w->launch_ns : w->start_ns;
	struct wall_copy copy = {
		w->instance, w->correlation, begin_ns, end_of(w->start_ns, w->duration_ns), w->op};

	int error = e->again || !e->stalls ? 0 : stalls_event(e->stalls, event);

	note_time(e, w->start_ns);
	if (error || !op)
		return error;
	if (op->kind == OP_COPY && !w->graph_node && w->thread &&
		is_here(e, copy.begin_ns, copy.end_ns) && vec_push(&e->copies, copy))
		return error_memory(SUBJECT);
	return add_run(e, event, op);
}

static uint32_t process_of(const struct wall_events *e, uint32_t thread)
{
	const struct profile_thread *t = profile_thread(e->reader, thread);

	return t ? t->process : 0;
}

bool wall_events_is_observed(const struct wall_events *e, uint32_t thread)
{
	return map_get(&e->observed, process_of(e, thread));
}

static int add_call(struct wall_events *e, const struct profile_event *event)
{
	const struct profile_call *c = &event->call;
	struct gather_key key = key_of(e, event);
	struct wall_call call = {
		.start_ns = c->start_ns,
		.end_ns = end_of(c->start_ns, c->duration_ns),
		.thread = c->thread,
		.instance = c->instance,
		.correlation = c->correlation,
		.copy = c->kind == CALL_COPY,
	};
	int error;

	note_time(e, c->start_ns);
	if (!e->again && c->observed && map_put(&e->observed, process_of(e, c->thread), 1))
		return error_memory(SUBJECT);
	if ((c->kind != CALL_COPY && c->kind != CALL_SYNC) ||
		!is_here(e, call.start_ns, call.end_ns))
		return 0;
	if (c->kind == CALL_SYNC && map_get(&e->with_syncs, c->instance))
		return 0;
	error = keys_add(&e->keys, &key, &call.key);
	if (!error && vec_push(&e->calls, call))
		error = error_memory(SUBJECT);
	return error;
}

static int add_sync(struct wall_events *e, const struct profile_event *event)
{
	const struct profile_sync *s = &event->sync;
	struct gather_key key = key_of(e, event);
	struct gpu_wait wait = {
		.start_ns = s->start_ns,
		.end_ns = end_of(s->start_ns, s->duration_ns),
		.launched_ns =
			s->kind == SYNC_EVENT && s->recorded_ns ? s->recorded_ns : s->start_ns,
		.thread = s->thread,
		.process = process_of(e, s->thread),
		.device = s->device,
		.context = s->context,
		.stream = s->stream,
		.kind = s->kind,
	};
	int error;

	note_time(e, s->start_ns);
	if (!e->again && map_put(&e->with_syncs, s->instance, 1))
		return error_memory(SUBJECT);
	if (!is_here(e, wait.start_ns, wait.end_ns))
		return 0;
	/* It has the node of its call. */
	key.event = EVENT_CALL;
	error = keys_add(&e->keys, &key, &wait.key);
	if (!error && vec_push(&e->gpu_waits, wait))
		error = error_memory(SUBJECT);
	return error;
}

/* Where not all work is recorded nobody knows what waits are for, so that none is the GPU's. */
static bool is_left_out(const struct wall_events *e, const struct profile_event *event)
{
	return (event->kind == EVENT_CALL || event->kind == EVENT_WORK ||
		       event->kind == EVENT_SYNC) &&
	       profile_is_estimated(e->reader);
}

static int add_event(struct wall_events *e, const struct profile_event *event)
{
	if (is_left_out(e, event))
		return 0;
	switch (event->kind) {
	case EVENT_SAMPLE:
		return add_sample(e, event);
	case EVENT_CALL:
		return add_call(e, event);
	case EVENT_WORK:
		return add_work(e, event);
	case EVENT_WAIT:
		return add_wait(e, event);
	case EVENT_LIFE:
		return e->again ? 0 : add_life(e, &event->life);
	case EVENT_SYNC:
		return add_sync(e, event);
	case EVENT_STALL:
		e->has_stalls = true;
		return e->again || !e->stalls ? 0 : stalls_event(e->stalls, event);
	case EVENT_PENDING:
	case EVENT_MARKER:
	case EVENT_COUNT:
	case EVENT_DRIVER:
	case EVENT_FOUND:
		break;
	}
	return 0;
}

/* ------------------------------------------------------------------ GPU waits */

static uint64_t call_key(uint32_t instance, uint32_t correlation)
{
	return (uint64_t)instance << 32 | correlation;
}

static int add_gpu_wait(
	struct wall_events *e, const struct wall_call *c, const struct wall_copy *copy)
{
	const struct profile_op *op = copy ? profile_op(e->reader, copy->op) : NULL;
	struct gpu_wait wait = {
		.start_ns = c->start_ns,
		.end_ns = c->end_ns,
		.launched_ns = c->start_ns,
		.thread = c->thread,
		.process = process_of(e, c->thread),
		.key = c->key,
	};

	if (op) {
		wait.process = op->process;
		wait.device = op->device;
		wait.context = op->context;
		wait.stream = op->stream;
		wait.kind = SYNC_STREAM;
	}
	return vec_push(&e->gpu_waits, wait) ? error_memory(SUBJECT) : 0;
}

/* Adds the calls whose copy was over when they were, and calls of processes that do not report what
 * they wait for. */
static int add_gpu_waits(struct wall_events *e)
{
	struct map copies = MAP_INIT;
	int error = 0;

	for (size_t n = 0; !error && n < e->copies.count; n++)
		if (map_put(&copies,
			    call_key(e->copies.items[n].instance, e->copies.items[n].correlation),
			    n))
			error = error_memory(SUBJECT);
	vec_foreach (c, &e->calls) {
		const uint64_t *n =
			c->copy ? map_get(&copies, call_key(c->instance, c->correlation)) : NULL;
		const struct wall_copy *copy = n ? &e->copies.items[*n] : NULL;

		if (error)
			break;
		if (c->copy ? copy && copy->end_ns <= c->end_ns
			    : !map_get(&e->with_syncs, c->instance))
			error = add_gpu_wait(e, c, copy);
	}
	map_release(&copies);
	return error;
}

static int compare_times(
	uint32_t thread, uint64_t start_ns, uint32_t other_thread, uint64_t other_start_ns)
{
	if (thread != other_thread)
		return thread < other_thread ? -1 : 1;
	return start_ns < other_start_ns ? -1 : start_ns > other_start_ns;
}

static int compare_gpu_waits(const void *a, const void *b)
{
	const struct gpu_wait *x = a, *y = b;

	return compare_times(x->thread, x->start_ns, y->thread, y->start_ns);
}

static int compare_waits(const void *a, const void *b)
{
	const struct wall_wait *x = a, *y = b;

	return compare_times(x->thread, x->start_ns, y->thread, y->start_ns);
}

/* What is left of an interval in the stretch, the life of its thread, and behind the one before;
 * maybe nothing. */
static int clip(struct wall_events *e, uint32_t thread, uint64_t behind_ns, uint64_t *start_ns,
	uint64_t *end_ns)
{
	struct wall_thread *t;
	int error = get_thread(e, thread, &t);
	uint64_t first, last;

	if (error)
		return error;
	first = t->from_ns > e->from_ns ? t->from_ns : e->from_ns;
	last = t->to_ns < e->to_ns ? t->to_ns : e->to_ns;
	first = behind_ns > first ? behind_ns : first;
	if (*start_ns < first)
		*start_ns = first;
	if (*end_ns > last)
		*end_ns = last;
	if (*end_ns < *start_ns)
		*end_ns = *start_ns;
	return 0;
}

/* The device of a wait. A wait that was reported before any work of its context came without
 * one. */
static uint32_t device_of(const struct wall_events *e, const struct gpu_wait *w)
{
	if (w->device || !w->context)
		return w->device;
	vec_foreach (l, &e->lanes)
		if (l->process == w->process && l->context == w->context)
			return l->device;
	return 0;
}

static int clip_gpu_waits(struct wall_events *e)
{
	struct gpu_wait *waits = e->gpu_waits.items;
	size_t kept = 0;

	if (e->gpu_waits.count)
		qsort(waits, e->gpu_waits.count, sizeof(*waits), compare_gpu_waits);
	for (size_t n = 0; n < e->gpu_waits.count; n++) {
		bool follows = kept && waits[kept - 1].thread == waits[n].thread;
		int error = clip(e, waits[n].thread, follows ? waits[kept - 1].end_ns : 0,
			&waits[n].start_ns, &waits[n].end_ns);

		if (error)
			return error;
		waits[n].device = device_of(e, &waits[n]);
		if (waits[n].end_ns > waits[n].start_ns)
			waits[kept++] = waits[n];
	}
	e->gpu_waits.count = kept;
	return 0;
}

static int clip_waits(struct wall_events *e)
{
	struct wall_wait *waits = e->waits.items;
	uint64_t behind_ns = 0;

	if (e->waits.count)
		qsort(waits, e->waits.count, sizeof(*waits), compare_waits);
	for (size_t n = 0; n < e->waits.count; n++) {
		struct wall_wait *w = &waits[n];
		int error;

		if (n && waits[n - 1].thread != w->thread)
			behind_ns = 0;
		error = clip(e, w->thread, behind_ns, &w->start_ns, &w->end_ns);
		if (error)
			return error;
		if (w->end_ns > behind_ns)
			behind_ns = w->end_ns;
		if (w->queued_from_ns < w->start_ns)
			w->queued_from_ns = w->start_ns;
		if (w->queued_from_ns > w->end_ns)
			w->queued_from_ns = w->end_ns;
	}
	return 0;
}

const struct gpu_wait *wall_events_gpu_wait(
	const struct wall_events *e, uint32_t thread, uint64_t time_ns)
{
	const struct gpu_wait *waits = e->gpu_waits.items;
	size_t first = search_first(i, 0, e->gpu_waits.count,
		waits[i].thread > thread ||
			(waits[i].thread == thread && waits[i].end_ns > time_ns));

	return first < e->gpu_waits.count && waits[first].thread == thread ? &waits[first] : NULL;
}

/* ------------------------------------------------------------------ readings */

static int read_stretch(struct wall_events *e, struct profile_reader *r)
{
	struct profile_event event;
	int more, error = 0;

	while (!error && (more = profile_reader_next(r, &event))) {
		error = more < 0 ? more : add_event(e, &event);
		if (!error && !e->again && chunk_times_add(&e->chunks, r, &event))
			error = error_memory(SUBJECT);
		if (count_kept(e) > e->most)
			cut_short(e);
	}
	error = error ?: add_gpu_waits(e);
	error = error ?: clip_gpu_waits(e);
	error = error ?: clip_waits(e);
	return error ?: 1;
}

int wall_events_first(struct wall_events *e, struct profile_reader *r)
{
	return read_stretch(e, r);
}

/* So long that about `most` events are in it, if they come as fast as in the stretch before; and at
 * least twice as long as that one, unless it had to be cut: a pause has too few events to estimate
 * by. */
static uint64_t next_end(const struct wall_events *e)
{
	uint64_t first, last;
	double length = 0, before_ns;

	find_range(e, &first, &last);
	before_ns = (double)(e->to_ns - (e->from_ns || first > e->to_ns ? e->from_ns : first));
	if (last > first)
		length = (double)(last - first) / (double)(count_kept(e) + 1) * (double)e->most *
			 3 / 4;
	if (!e->cut && length < before_ns * 2)
		length = before_ns * 2;
	if (e->to_ns >= e->last_ns || length >= (double)(e->last_ns - e->to_ns))
		return UINT64_MAX;
	return end_of(e->to_ns, (uint64_t)length + 1);
}

/* Of the chunk that begins there: no event of it overlaps the stretch. */
static bool is_elsewhere(const void *events, uint64_t chunk)
{
	const struct wall_events *e = events;
	const struct chunk_time *t = chunk_times_find(&e->chunks, chunk);

	return t && (t->first_ns >= e->to_ns || t->last_ns < e->from_ns);
}

int wall_events_next(struct wall_events *e)
{
	struct profile_reader *r;
	uint64_t end_ns;
	int error;

	if (e->to_ns == UINT64_MAX)
		return 0;
	end_ns = next_end(e);
	forget_stretch(e);
	e->again = true;
	e->cut = false;
	e->from_ns = e->to_ns;
	e->to_ns = end_ns;
	error = profile_reader_open_again(&r, e->reader);
	if (error)
		return error;
	profile_reader_skip(r, is_elsewhere, e);
	error = read_stretch(e, r);
	profile_reader_close(r);
	return error;
}
