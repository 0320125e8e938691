// SPDX-License-Identifier: MIT
#include "view/gaps/sync_waits.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/intern.h"
#include "base/order.h"
#include "base/search.h"
#include "profile/clip.h"
#include "view/names/launch_path.h"

/* How far works are moved back to be in order of their ends, on average. They begin in order, so it
 * is not far where few run at a time. */
#define MOVES_MAX 8

/* Work that is looked at for one call, from its end back. */
#define LOOK_BACK 256

struct finding {
	const struct gap_events *events;
	const struct profile_reader *reader;
	struct order ended; /* works, by process and end */
	const uint32_t *merged;
	struct interner *rows;
};

void sync_waits_release(struct sync_waits *s)
{
	vec_release(&s->waits);
}

static int order(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

/* What an order goes by, of a work. */
enum work_number { END_LOW, END_HIGH, PROCESS };

static void sort_by(struct order *o, const struct gap_work *works, enum work_number number)
{
	for (size_t i = 0; i < o->count; i++)
		o->numbers[i] = number == PROCESS    ? works[i].process
				: number == END_HIGH ? (uint32_t)(works[i].end_ns >> 32)
						     : (uint32_t)works[i].end_ns;
	order_sort(o);
}

static bool is_behind(const struct gap_work *a, const struct gap_work *b)
{
	return a->process != b->process ? a->process > b->process : a->end_ns > b->end_ns;
}

/* By insertion; false if works are too far from where they belong. */
static bool move_back(uint32_t *items, size_t count, const struct gap_work *works)
{
	size_t moves = MOVES_MAX * count;

	for (size_t i = 1; i < count; i++) {
		uint32_t item = items[i];
		size_t at = i;

		for (; at && is_behind(&works[items[at - 1]], &works[item]); at--) {
			items[at] = items[at - 1];
			if (!moves--) {
				items[at - 1] = item;
				return false;
			}
		}
		items[at] = item;
	}
	return true;
}

static int order_works(struct finding *f)
{
	const struct gap_work *works = f->events->works.items;
	int error = order_init(&f->ended, f->events->works.count);

	if (error)
		return error;
	sort_by(&f->ended, works, PROCESS);
	if (move_back(f->ended.items, f->ended.count, works))
		return 0;
	sort_by(&f->ended, works, END_LOW);
	sort_by(&f->ended, works, END_HIGH);
	sort_by(&f->ended, works, PROCESS);
	return 0;
}

static bool is_waited_for(const struct finding *f, const struct gap_work *w,
	const struct gap_call *call, const struct gap_sync *sync)
{
	const struct profile_op *op = profile_op(f->reader, w->op);
	uint64_t launched_ns = sync && sync->launched_ns ? sync->launched_ns : call->span.start_ns;

	if (!op || !w->launch_ns || w->launch_ns > launched_ns)
		return false;
	if (!sync)
		return true;
	return op->context == sync->context &&
	       (sync->kind == SYNC_CONTEXT || w->stream == sync->stream ||
		       (w->graph && !w->stream));
}

/* The i-th of all works by their ends, those of one process together. */
static const struct gap_work *work_at(const struct finding *f, size_t i)
{
	return &f->events->works.items[f->ended.items[i]];
}

static bool ends_behind(const struct gap_work *w, uint32_t process, uint64_t time_ns)
{
	return w->process > process || (w->process == process && w->end_ns > time_ns);
}

static const struct gap_work *find_work(
	const struct finding *f, uint32_t process, const struct gap_call *call)
{
	const struct gap_sync *sync = gap_events_sync(f->events, call);
	size_t behind = search_first(i, 0, f->events->works.count,
		ends_behind(work_at(f, i), process, call->span.end_ns));

	for (size_t n = 0; n < LOOK_BACK && behind > n; n++) {
		const struct gap_work *w = work_at(f, behind - 1 - n);

		if (w->process != process || w->end_ns <= call->span.start_ns)
			break;
		if (is_waited_for(f, w, call, sync))
			return w;
	}
	return NULL;
}

static uint32_t merged(const struct finding *f, uint32_t stack)
{
	return stack ? f->merged[stack] : 0;
}

static int add(struct sync_waits *s, struct finding *f, const struct gap_call *call)
{
	const struct profile_thread *t = profile_thread(f->reader, call->span.thread);
	const struct gap_work *w = t ? find_work(f, t->process, call) : NULL;
	const struct profile_op *op = w ? profile_op(f->reader, w->op) : NULL;
	struct sync_wait wait = {.thread = call->span.thread,
		.api = call->api,
		.stack = merged(f, call->span.stack),
		.op = w ? w->op : 0,
		.launch_stack = w ? merged(f, w->stack) : 0};
	const uint32_t key[] = {wait.thread, wait.api, wait.stack, wait.launch_stack,
		op ? op->kind : 0, op ? op->name : 0, op ? op->copy_kind : 0};
	const struct profile_clip *clip = profile_reader_clip_of(f->reader);
	uint64_t ns = clip_inside(clip, call->span.start_ns, call->span.end_ns);
	struct sync_wait *row;
	uint32_t id;
	int added;

	if (!clip_has_thread(clip, wait.thread) ||
		(!ns && !clip_has_time(clip, call->span.start_ns)))
		return 0;
	if (interner_add(f->rows, key, sizeof(key), &id, &added) ||
		(added && vec_push(&s->waits, wait)))
		return -ENOMEM;
	row = &s->waits.items[id - 1];
	row->count += clip_has_time(clip, call->span.start_ns);
	row->total_ns += ns;
	row->max_ns = ns > row->max_ns ? ns : row->max_ns;
	return 0;
}

static int by_time(const void *left, const void *right)
{
	const struct sync_wait *a = left, *b = right;

	if (a->total_ns != b->total_ns)
		return order(b->total_ns, a->total_ns);
	return a->thread != b->thread ? order(a->thread, b->thread) : order(a->stack, b->stack);
}

static bool has_syncs(const struct gap_events *e)
{
	vec_foreach (c, &e->calls)
		if (c->is_sync)
			return true;
	return false;
}

int sync_waits_find(
	struct sync_waits *s, const struct gap_events *e, const struct internals *internals)
{
	struct finding f = {.events = e, .reader = internals->reader};
	int error;

	if (!has_syncs(e))
		return 0;
	error = launch_path_merge(internals, PATH_PROGRAM, &f.merged);
	error = error ?: order_works(&f);
	if (!error && interner_new(&f.rows))
		error = -ENOMEM;
	for (size_t i = 0; !error && i < e->calls.count; i++)
		if (e->calls.items[i].is_sync)
			error = add(s, &f, &e->calls.items[i]);
	if (s->waits.count)
		qsort(s->waits.items, s->waits.count, sizeof(*s->waits.items), by_time);
	interner_free(f.rows);
	order_release(&f.ended);
	return error ? error_set(error, "not enough memory for waits for GPUs") : 0;
}
