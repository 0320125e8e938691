// SPDX-License-Identifier: MIT
#include "view/gaps/sync_waits.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/intern.h"
#include "base/search.h"
#include "profile/clip.h"
#include "view/names/launch_path.h"

/* Work that is looked at for one call, from its end back. */
#define LOOK_BACK 256

struct finding {
	const struct gap_events *events;
	const struct profile_reader *reader;
	uint32_t *ended; /* indices of works, by process and end */
	uint32_t *merged;
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

static int by_end(const void *left, const void *right, void *works)
{
	const struct gap_work *a = (const struct gap_work *)works + *(const uint32_t *)left;
	const struct gap_work *b = (const struct gap_work *)works + *(const uint32_t *)right;

	return a->process != b->process ? order(a->process, b->process)
					: order(a->end_ns, b->end_ns);
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
	return &f->events->works.items[f->ended[i]];
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
	f.ended = calloc(e->works.count + 1, sizeof(*f.ended));
	if (!error && (!f.ended || interner_new(&f.rows)))
		error = -ENOMEM;
	for (size_t i = 0; !error && i < e->works.count; i++)
		f.ended[i] = (uint32_t)i;
	if (!error && e->works.count)
		qsort_r(f.ended, e->works.count, sizeof(*f.ended), by_end, e->works.items);
	for (size_t i = 0; !error && i < e->calls.count; i++)
		if (e->calls.items[i].is_sync)
			error = add(s, &f, &e->calls.items[i]);
	if (s->waits.count)
		qsort(s->waits.items, s->waits.count, sizeof(*s->waits.items), by_time);
	interner_free(f.rows);
	free(f.ended);
	free(f.merged);
	return error ? error_set(error, "not enough memory for waits for GPUs") : 0;
}
