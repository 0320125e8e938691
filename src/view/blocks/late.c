// SPDX-License-Identifier: MIT
#include "view/blocks/late.h"

#include <stdlib.h>

#include "base/error.h"

/* A call cannot be later than what it asked for, but for the clocks. */
static uint64_t lateness(const struct block_run *run, const struct block *first)
{
	return first->start_ns > run->launch_ns ? first->start_ns - run->launch_ns : 0;
}

static struct late_kernel *find(struct late *l, struct map *by_name, uint32_t name)
{
	struct late_kernel new = {.name = name, .least_ns = UINT64_MAX};
	const uint64_t *at = map_get(by_name, name);

	if (at)
		return &l->kernels.items[*at];
	if (map_put(by_name, name, l->kernels.count) || vec_push(&l->kernels, new))
		return NULL;
	return &l->kernels.items[l->kernels.count - 1];
}

static int add(struct late *l, struct map *by_name, const struct block_run *run,
	const struct block *first, uint32_t name)
{
	struct late_kernel *k = find(l, by_name, name);
	uint64_t late_ns = lateness(run, first);

	if (!k)
		return error_memory("how late kernels began");
	k->count++;
	k->sum_ns += (double)late_ns;
	k->least_ns = late_ns < k->least_ns ? late_ns : k->least_ns;
	k->most_ns = late_ns > k->most_ns ? late_ns : k->most_ns;
	if (run->error_ns > l->error_ns)
		l->error_ns = run->error_ns;
	return 0;
}

static int by_sum(const void *a, const void *b)
{
	const struct late_kernel *x = a, *y = b;

	return x->sum_ns < y->sum_ns ? 1 : x->sum_ns > y->sum_ns ? -1 : 0;
}

static int add_all(struct late *l, const struct blocks *b, const struct profile_reader *r)
{
	struct map by_name = MAP_INIT;
	uint64_t known = 0;
	int error = 0;

	vec_foreach (run, &b->runs) {
		const struct profile_op *op = profile_op(r, run->op);

		if (error || !run->count || !run->launch_ns || !op)
			continue;
		error = add(l, &by_name, run, &b->items.items[run->first], op->name);
		known++;
	}
	l->unknown = b->items.count + b->left_out - known;
	if (l->kernels.count)
		qsort(l->kernels.items, l->kernels.count, sizeof(*l->kernels.items), by_sum);
	map_release(&by_name);
	return error;
}

int late_read(struct late *l, const struct profile_reader *done)
{
	struct blocks b;
	int error = blocks_read(&b, done, BLOCKS_FIRST);

	*l = (struct late){0};
	error = error ?: add_all(l, &b, done);
	blocks_release(&b);
	return error;
}

void late_release(struct late *l)
{
	vec_release(&l->kernels);
}
