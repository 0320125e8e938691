// SPDX-License-Identifier: MIT
#include "view/tables/estimated_rows.h"

/* Where the sums of a row are. */
struct estimated {
	uint64_t *count, *others;
	struct spread_range *time_range, *count_range;
};

static void estimate_row(
	const struct gathering *g, enum estimate_of of, uint64_t key, const struct estimated *row)
{
	const struct estimate *e = estimates_find(&g->estimates, of, key);

	*row->time_range = *row->count_range = (struct spread_range){.high = SPREAD_NOT_KNOWN};
	if (!e)
		return;
	*row->count = profile_rounded(e->count.sum);
	if (row->others)
		*row->others = profile_rounded(e->others);
	*row->time_range = estimate_time(&g->estimates, e);
	*row->count_range = estimate_count(&g->estimates, e);
}

static void estimate_times(const struct gathering *g, enum estimate_of of, uint64_t key,
	struct summary_time *t, uint64_t *others)
{
	estimate_row(g, of, key,
		&(struct estimated){&t->count, others, &t->total_range, &t->count_range});
}

static void estimate_task(const struct gathering *g, enum estimate_of of, struct summary_task *t)
{
	estimate_row(
		g, of, t->id, &(struct estimated){&t->works, NULL, &t->gpu_range, &t->works_range});
}

/* Numbers so far are what is in the file. */
void estimated_rows_put(struct gathering *g)
{
	const struct bursts *bursts = profile_bursts(g->r);
	struct summary *s = g->s;
	const struct estimate *all;

	s->without_bursts = bursts->without;
	s->bursts = bursts_extent(bursts);
	all = estimates_find(&g->estimates, ESTIMATE_WORK, 0);
	s->seen_works = s->works;
	s->seen_gpu_ns = all ? all->seen_ns : s->gpu_ns;
	estimate_row(g, ESTIMATE_WORK, 0,
		&(struct estimated){&s->works, NULL, &s->gpu_range, &s->works_range});
	vec_foreach (k, &s->kernels)
		estimate_times(g, ESTIMATE_KERNEL, k->name, &k->time, NULL);
	vec_foreach (c, &s->copies)
		estimate_times(g, ESTIMATE_COPY, gathering_copy_key(c->kind, c->source, c->target),
			&c->time, &c->bytes);
	vec_foreach (set, &s->sets)
		estimate_times(g, ESTIMATE_SET, set->target, &set->time, &set->bytes);
	vec_foreach (c, &s->call_times)
		estimate_times(g, ESTIMATE_CALLS, gathering_call_key(c->api, c->kind, c->observed),
			&c->time, &c->failed);
	vec_foreach (d, &s->devices)
		estimate_row(g, ESTIMATE_DEVICE, d->device,
			&(struct estimated){&d->works, NULL, &d->work_range, &d->works_range});
	vec_foreach (p, &s->processes)
		estimate_task(g, ESTIMATE_PROCESS, p);
	vec_foreach (t, &s->threads)
		estimate_task(g, ESTIMATE_THREAD, t);
}
