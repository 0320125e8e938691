// SPDX-License-Identifier: MIT
#include "view/wall/sums.h"

#include "base/error.h"

static const struct gather_key *key_at(const struct wall_sums *s, uint32_t key)
{
	return &s->events->keys.items.items[key];
}

int wall_sums_add_waiting(struct wall_sums *s, uint32_t key, bool assumed, uint64_t ns)
{
	const struct gather_key *whole = key_at(s, key);

	if (!ns)
		return 0;
	if (assumed)
		s->events->threads.items[whole->thread].assumed_ns += ns;
	return gather_add(&s->waiting, whole, ns);
}

int wall_sums_add_gpu(struct wall_sums *s, uint64_t key, uint64_t ns)
{
	uint64_t *sum = map_get(&s->gpu, key);

	if (sum)
		*sum += ns;
	else if (map_put(&s->gpu, key, ns))
		return error_memory("what threads waited for");
	return 0;
}

/* ------------------------------------------------------------------ from events */

static int add_amount(void *sums, enum wall_kind kind, uint32_t key, uint64_t time_ns, uint64_t ns)
{
	struct wall_sums *s = sums;
	struct wall_divided *d = &s->divided[kind];

	return gather_add(&d->all, key_at(s, key), ns) ?: edges_add_at(&d->edges, key, time_ns, ns);
}

static int add_spread(
	void *sums, uint32_t key, uint64_t start_ns, uint64_t end_ns, uint64_t amount_ns)
{
	struct wall_sums *s = sums;
	struct wall_divided *d = &s->divided[WALL_RUNNING];

	return gather_add(&d->all, key_at(s, key), amount_ns)
		       ?: edges_add_spread(&d->edges, key, start_ns, end_ns, amount_ns);
}

static int add_waited(void *sums, uint32_t key, bool assumed, uint64_t from_ns, uint64_t to_ns)
{
	struct wall_sums *s = sums;

	return wall_sums_add_waiting(s, key, assumed, clip_inside(s->clip, from_ns, to_ns));
}

static int add_gpu(void *sums, uint64_t key, uint64_t from_ns, uint64_t to_ns)
{
	struct wall_sums *s = sums;

	return wall_sums_add_gpu(s, key, to_ns - from_ns)
		       ?: edges_add_time(&s->gpu_edges, key, from_ns, to_ns, 1);
}

/* ------------------------------------------------------------------ */

int wall_sums_init(struct wall_sums *s, struct wall_events *events, const struct profile_clip *clip)
{
	int error;

	*s = (struct wall_sums){
		.clip = clip,
		.events = events,
		.receiver = {.arg = s,
			.amount = add_amount,
			.spread = add_spread,
			.waited = add_waited,
			.gpu = add_gpu},
	};
	error = edges_init(&s->gpu_edges, clip);
	for (size_t kind = 0; !error && kind < WALL_KINDS; kind++)
		error = edges_init(&s->divided[kind].edges, clip);
	return error;
}

void wall_sums_release(struct wall_sums *s)
{
	for (size_t kind = 0; kind < WALL_KINDS; kind++) {
		gather_release(&s->divided[kind].all);
		edges_release(&s->divided[kind].edges);
	}
	gather_release(&s->waiting);
	map_release(&s->gpu);
	edges_release(&s->gpu_edges);
}
