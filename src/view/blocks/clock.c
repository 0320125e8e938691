// SPDX-License-Identifier: MIT
/*
 * The GPU's clock is that of the time of day, about. Kernels whose blocks are known narrow the
 * difference down, in the order of time: each says that it is in a range.
 */
#include "view/blocks/clock.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/search.h"

/* Where no kernel says more: clocks of computers agree that well. */
#define UNKNOWN_NS 10000000

struct range_of {
	int64_t low, high;
};

/* That of one run; where it is shorter than its blocks, both are its middle. */
static struct range_of range_of(const struct blocks *b, const struct block_run *run)
{
	const struct block *blocks = b->items.items + run->first;
	uint64_t last = 0;
	struct range_of is;

	for (uint32_t i = 0; i < run->count; i++)
		if (blocks[i].start_ns + blocks[i].duration_ns > last)
			last = blocks[i].start_ns + blocks[i].duration_ns;
	is.low = (int64_t)(run->start_ns - blocks[0].start_ns);
	is.high = (int64_t)(run->start_ns + run->duration_ns - last);
	if (is.low > is.high)
		is.low = is.high = is.high + (is.low - is.high) / 2;
	return is;
}

static struct clock_offset middle_of(struct range_of is)
{
	return (struct clock_offset){
		.offset_ns = is.low + (is.high - is.low) / 2,
		.error_ns = (uint64_t)(is.high - is.low + 1) / 2,
	};
}

static int by_time(const void *a, const void *b)
{
	const struct clock_point *x = a, *y = b;

	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	return x->gpu_ns < y->gpu_ns ? -1 : x->gpu_ns > y->gpu_ns;
}

static int add_points(struct clocks *c, const struct blocks *b)
{
	vec_foreach (run, &b->runs) {
		struct clock_point p = {.device = b->groups.items[run->group].device};

		if (!run->count)
			continue;
		p.gpu_ns = b->items.items[run->first].start_ns;
		p.is = middle_of(range_of(b, run));
		if (vec_push(&c->points, p))
			return error_memory("clocks of GPUs");
	}
	if (c->points.count)
		qsort(c->points.items, c->points.count, sizeof(*c->points.items), by_time);
	return 0;
}

static struct range_of range_at(const struct clock_point *p)
{
	return (struct range_of){p->is.offset_ns - (int64_t)p->is.error_ns,
		p->is.offset_ns + (int64_t)p->is.error_ns};
}

/* Of all that have something in common. */
static void agree(struct clock_point *from, const struct clock_point *to, struct range_of all)
{
	for (; from < to; from++)
		from->is = middle_of(all);
}

/* As many in turn as have something in common. */
static void narrow(struct clocks *c)
{
	struct clock_point *first = c->points.items;
	struct range_of all = {0};

	vec_foreach (p, &c->points) {
		struct range_of is = range_at(p);

		if (p == first || p->device != first->device || is.low > all.high ||
			is.high < all.low) {
			agree(first, p, all);
			first = p;
			all = is;
			continue;
		}
		all.low = is.low > all.low ? is.low : all.low;
		all.high = is.high < all.high ? is.high : all.high;
	}
	agree(first, c->points.items + c->points.count, all);
}

int clocks_read(struct clocks *c, const struct blocks *b, const struct profile_reader *r)
{
	uint64_t realtime_ns = profile_meta_number(r, META_REALTIME_NS, 0);
	int error;

	*c = (struct clocks){
		.otherwise = {realtime_ns < INT64_MAX ? -(int64_t)realtime_ns : 0, UNKNOWN_NS}};
	error = add_points(c, b);
	narrow(c);
	return error;
}

void clocks_release(struct clocks *c)
{
	vec_release(&c->points);
}

static bool is_behind(const struct clock_point *p, uint32_t device, uint64_t gpu_ns)
{
	return p->device > device || (p->device == device && p->gpu_ns > gpu_ns);
}

/* The last before it, or else the first. */
struct clock_offset clocks_at(const struct clocks *c, uint32_t device, uint64_t gpu_ns)
{
	const struct clock_point *p = c->points.items;
	size_t n = search_first(i, 0, c->points.count, is_behind(&p[i], device, gpu_ns));

	if (n && p[n - 1].device == device)
		return p[n - 1].is;
	return n < c->points.count && p[n].device == device ? p[n].is : c->otherwise;
}

struct clock_offset clocks_of_run(
	const struct clocks *c, const struct blocks *b, const struct block_run *run)
{
	struct clock_offset o = clocks_at(
		c, b->groups.items[run->group].device, b->items.items[run->first].start_ns);
	struct range_of own = range_of(b, run);

	if (o.offset_ns < own.low)
		o.offset_ns = own.low;
	if (o.offset_ns > own.high)
		o.offset_ns = own.high;
	return o;
}
