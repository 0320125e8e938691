// SPDX-License-Identifier: MIT
#include "profile/chunk_times.h"

#include <string.h>

#include "base/search.h"

#define STRETCH_BYTES ((uint64_t)64 << 10)

void chunk_times_release(struct chunk_times *c)
{
	vec_release(&c->items);
	vec_release(&c->turns);
	vec_release(&c->latest_turn);
	c->last = 0;
}

static int go_to(struct chunk_times *c, uint64_t chunk)
{
	struct chunk_time none = {
		.begin = chunk,
		.first_ns = UINT64_MAX,
		.first_work_ns = UINT64_MAX,
		.first_turn = c->turns.count,
	};

	c->last = chunk;
	if (c->items.count && chunk - c->items.items[c->items.count - 1].begin < STRETCH_BYTES)
		return 0;
	return vec_push(&c->items, none);
}

static void see(struct chunk_time *t, uint64_t start_ns, uint64_t duration_ns)
{
	uint64_t end_ns = duration_ns < UINT64_MAX - start_ns ? start_ns + duration_ns : UINT64_MAX;

	t->first_ns = start_ns < t->first_ns ? start_ns : t->first_ns;
	t->last_ns = end_ns > t->last_ns ? end_ns : t->last_ns;
}

static void see_work(struct chunk_time *t, const struct profile_work *w)
{
	see(t, w->start_ns, w->duration_ns);
	if (w->launch_ns && w->launch_ns < t->first_ns)
		t->first_ns = w->launch_ns;
	t->first_work_ns = w->start_ns < t->first_work_ns ? w->start_ns : t->first_work_ns;
	t->last_work_ns = w->start_ns > t->last_work_ns ? w->start_ns : t->last_work_ns;
}

/* By thread; its latest one is of this stretch, or of an earlier one. */
static int add_turn(struct chunk_times *c, uint32_t thread, uint64_t passed_ns)
{
	const struct chunk_time *t = &c->items.items[c->items.count - 1];
	size_t known = c->latest_turn.count, *latest;

	if (thread >= known) {
		if (vec_reserve(&c->latest_turn, thread + 1 - known))
			return -ENOMEM;
		memset(c->latest_turn.items + known, 0,
			(thread + 1 - known) * sizeof(*c->latest_turn.items));
		c->latest_turn.count = (size_t)thread + 1;
	}
	latest = &c->latest_turn.items[thread];
	if (*latest > t->first_turn) {
		c->turns.items[*latest - 1].passed_ns = passed_ns;
		return 0;
	}
	if (vec_push(&c->turns, (struct chunk_turn){thread, passed_ns}))
		return -ENOMEM;
	*latest = c->turns.count;
	return 0;
}

int chunk_times_add(
	struct chunk_times *c, const struct profile_reader *r, const struct profile_event *e)
{
	uint64_t chunk = profile_reader_chunk(r);
	struct chunk_time *t;

	if (e->kind == EVENT_SAMPLE && e->sample.kind != SAMPLE_SEEN)
		return 0; /* it is in no chunk */
	if ((!c->items.count || chunk != c->last) && go_to(c, chunk))
		return -ENOMEM;
	t = &c->items.items[c->items.count - 1];
	switch (e->kind) {
	case EVENT_SAMPLE:
		see(t, e->sample.time_ns, 0);
		return add_turn(c, e->sample.thread, profile_reader_passed_ns(r, e->sample.thread));
	case EVENT_CALL:
		see(t, e->call.start_ns, e->call.duration_ns);
		break;
	case EVENT_WORK:
		see_work(t, &e->work);
		break;
	case EVENT_PENDING:
		see(t, e->pending.start_ns, 0);
		break;
	case EVENT_COUNT:
		see(t, e->count.start_ns, e->count.duration_ns);
		break;
	case EVENT_DRIVER:
		see(t, e->driver.start_ns, e->driver.duration_ns);
		break;
	case EVENT_WAIT:
		see(t, e->wait.start_ns, e->wait.duration_ns);
		break;
	case EVENT_SYNC:
		see(t, e->sync.start_ns, e->sync.duration_ns);
		break;
	case EVENT_MARKER:
		see(t, e->marker.start_ns, e->marker.duration_ns);
		break;
	case EVENT_FOUND: /* entries of maps are of all times */
		see(t, e->found.program ? e->found.time_ns : 0, e->found.program ? 0 : UINT64_MAX);
		break;
	case EVENT_LIFE: /* covers all times when the thread was not there, too */
		see(t, 0, UINT64_MAX);
		break;
	case EVENT_STALL: /* has no time */
		break;
	}
	return 0;
}

const struct chunk_time *chunk_times_find(const struct chunk_times *c, uint64_t chunk)
{
	size_t behind;

	if (chunk >= c->last)
		return NULL;
	behind = search_first(i, 0, c->items.count, c->items.items[i].begin > chunk);
	return behind && behind < c->items.count ? &c->items.items[behind - 1] : NULL;
}

size_t chunk_times_turns(
	const struct chunk_times *c, const struct chunk_time *t, const struct chunk_turn **ret)
{
	const struct chunk_time *last = &c->items.items[c->items.count - 1];
	size_t end = t < last ? t[1].first_turn : c->turns.count;

	*ret = c->turns.items + t->first_turn;
	return end - t->first_turn;
}
