// SPDX-License-Identifier: MIT
#include "profile/chunk_times.h"

#include "base/search.h"

#define STRETCH_BYTES ((uint64_t)64 << 10)

void chunk_times_release(struct chunk_times *c)
{
	vec_release(&c->items);
	c->last = 0;
}

static int go_to(struct chunk_times *c, uint64_t chunk)
{
	struct chunk_time none = {
		.begin = chunk, .first_ns = UINT64_MAX, .first_work_ns = UINT64_MAX};

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
		break;
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
	return behind ? &c->items.items[behind - 1] : NULL;
}
