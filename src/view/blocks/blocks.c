// SPDX-License-Identifier: MIT
#include "view/blocks/blocks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/search.h"
#include "view/blocks/clock.h"

#define SUBJECT	   "blocks of kernels"
#define BLOCKS_MAX (8u << 20)
#define RUNS_MAX   (8u << 20)
#define SMS_MAX	   1024u
#define LATEST_NS  (1ull << 62) /* differences of two such times have a sign */

/* Records begin with the start. Those of all blocks go on with the end, the number, the kernel, and
 * the multiprocessor. */
#define FIRST_BYTES 16
#define ALL_BYTES   36

struct blocks_source {
	const char *tool, *map;
	uint32_t record_bytes;
	bool is_first;
};

static const struct blocks_source sources[] = {
	[BLOCKS_ALL] = {"blocks", "blocks", ALL_BYTES},
	[BLOCKS_FIRST] = {"launchlate", "starts", FIRST_BYTES, true},
};

static int no_memory(void)
{
	return error_memory(SUBJECT);
}

static bool is_map_of_tool(
	const struct blocks_source *s, const struct profile_reader *r, uint32_t id)
{
	const struct profile_probe_map *m = profile_probe_map(r, id);
	const struct profile_probe_object *o = m ? profile_probe_object(r, m->object) : NULL;

	return o && !strcmp(profile_string(r, o->tool, NULL), s->tool) &&
	       !strcmp(profile_string(r, m->name, NULL), s->map);
}

static uint64_t key_of(uint32_t process, uint32_t device, uint64_t grid)
{
	return hash_combine((uint64_t)process << 32 | device, grid);
}

static const uint64_t *find_group(
	const struct blocks *b, uint32_t process, uint32_t device, uint64_t grid)
{
	return map_get(&b->group_of, key_of(process, device, grid));
}

static int add_group(
	struct blocks *b, const struct profile_probe_context *c, uint64_t grid, uint32_t *ret)
{
	struct block_group new = {.grid = grid, .process = c->process, .device = c->device};
	const uint64_t *found = find_group(b, c->process, c->device, grid);

	*ret = found ? (uint32_t)*found : (uint32_t)b->groups.count;
	if (found)
		return 0;
	if (map_put(&b->group_of, key_of(c->process, c->device, grid), b->groups.count) ||
		vec_push(&b->groups, new))
		return no_memory();
	return 0;
}

static void read_block(
	const struct blocks_source *s, const struct profile_found *f, struct block *ret)
{
	uint64_t end_ns;

	*ret = (struct block){.sm = f->sm ? f->sm - 1 : 0};
	memcpy(&ret->start_ns, f->bytes, 8);
	if (s->is_first)
		return;
	memcpy(&end_ns, f->bytes + 8, 8);
	memcpy(&ret->number, f->bytes + 16, 8);
	memcpy(&ret->sm, f->bytes + 32, 4);
	ret->duration_ns = end_ns > ret->start_ns ? end_ns - ret->start_ns : 0;
}

static int add_block(
	struct blocks *b, const struct profile_reader *r, const struct profile_found *f)
{
	struct block new;
	int error;

	if (!f->program || f->size < b->source->record_bytes ||
		!is_map_of_tool(b->source, r, f->map))
		return 0;
	read_block(b->source, f, &new);
	if (b->items.count == BLOCKS_MAX || new.sm >= SMS_MAX || new.start_ns >= LATEST_NS ||
		new.duration_ns >= LATEST_NS - new.start_ns) {
		b->left_out++;
		return 0;
	}
	error = add_group(b, profile_probe_context(r, f->context), f->grid, &new.group);
	return error || !vec_push(&b->items, new) ? error : no_memory();
}

/* In blocks. More than any GPU can run is as good as most. */
static uint64_t size_of_grid(const uint32_t *grid)
{
	uint64_t blocks = (uint64_t)grid[0] * grid[1];

	return __builtin_mul_overflow(blocks, grid[2], &blocks) ? UINT64_MAX : blocks;
}

static int add_run(struct blocks *b, const struct profile_reader *r, const struct profile_work *w)
{
	const struct profile_op *op = profile_op(r, w->op);
	const uint64_t *group =
		op && w->grid ? find_group(b, op->process, op->device, w->grid) : NULL;
	struct block_run new = {.start_ns = w->start_ns,
		.duration_ns = w->duration_ns,
		.launch_ns = w->launch_ns,
		.op = w->op};

	if (!group || b->runs.count == RUNS_MAX)
		return 0;
	if (w->start_ns >= LATEST_NS || w->duration_ns >= LATEST_NS - w->start_ns)
		return 0;
	new.group = (uint32_t)*group;
	new.grid_blocks = b->source->is_first ? 1 : size_of_grid(op->grid);
	return vec_push(&b->runs, new) ? no_memory() : 0;
}

/* Work comes before what its kernel found, or behind it. */
static int read_all(
	struct blocks *b, const struct profile_reader *done, enum profile_event_kind kind)
{
	struct profile_reader *r = NULL;
	struct profile_event e;
	int error = profile_reader_open_again(&r, done), got = 0;

	while (!error && (got = profile_reader_next(r, &e)) > 0)
		if (e.kind == kind)
			error = kind == EVENT_WORK ? add_run(b, done, &e.work)
						   : add_block(b, done, &e.found);
	profile_reader_close(r);
	return error ? error : got;
}

static int compare(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int by_group_and_time(const void *a, const void *b)
{
	const struct block *x = a, *y = b;

	return compare(x->group, y->group) ?: compare(x->start_ns, y->start_ns);
}

static int runs_by_time(const void *a, const void *b)
{
	const struct block_run *x = a, *y = b;

	return compare(x->group, y->group) ?: compare(x->start_ns, y->start_ns);
}

static void sort(struct blocks *b)
{
	qsort(b->items.items, b->items.count, sizeof(*b->items.items), by_group_and_time);
	if (b->runs.count)
		qsort(b->runs.items, b->runs.count, sizeof(*b->runs.items), runs_by_time);
}

static void find_members(struct blocks *b)
{
	for (size_t i = b->items.count; i--;) {
		struct block_group *g = &b->groups.items[b->items.items[i].group];

		g->first = (uint32_t)i;
		g->count++;
	}
	for (size_t i = b->runs.count; i--;) {
		struct block_group *g = &b->groups.items[b->runs.items[i].group];

		g->first_run = (uint32_t)i;
		g->run_count++;
	}
}

static bool is_complete(const struct blocks *b, const struct block_group *g)
{
	uint64_t left = g->count;

	for (uint32_t i = 0; i < g->run_count; i++) {
		uint64_t blocks = b->runs.items[g->first_run + i].grid_blocks;

		if (blocks > left)
			return false;
		left -= blocks;
	}
	return !left;
}

/* Those for which no time is needed. False: it is. */
static bool give_by_order(struct blocks *b, const struct block_group *g)
{
	struct block_run *runs = b->runs.items + g->first_run;
	uint32_t first = g->first;

	if (g->run_count != 1 && !is_complete(b, g))
		return false;
	for (uint32_t i = 0; i < g->run_count; i++) {
		runs[i].first = first;
		runs[i].count = g->run_count == 1 ? g->count : (uint32_t)runs[i].grid_blocks;
		first += runs[i].count;
	}
	return true;
}

/* First blocks begin with their kernels, or a little later, so that with them the least difference
 * of the clocks is the best: times are at least what they are then. */
static void place_run(struct blocks *b, const struct clocks *clocks, struct block_run *run)
{
	struct clock_offset o = clocks_of_run(clocks, b, run);

	if (b->source->is_first) {
		o.offset_ns -= (int64_t)o.error_ns;
		o.error_ns *= 2;
	}
	run->error_ns = o.error_ns;
	for (uint32_t i = run->first; i < run->first + run->count; i++)
		b->items.items[i].start_ns += (uint64_t)o.offset_ns;
}

/* The run of its group in whose time a block began, if it can only be one. */
static struct block_run *run_of(
	struct blocks *b, const struct block_group *g, uint64_t start_ns, uint64_t error_ns)
{
	struct block_run *runs = b->runs.items + g->first_run, *found = NULL;
	size_t n = search_first(i, 0, g->run_count, runs[i].start_ns > start_ns + error_ns);

	while (n-- && start_ns <= runs[n].start_ns + runs[n].duration_ns + error_ns) {
		if (found)
			return NULL;
		found = &runs[n];
	}
	return found;
}

/* Blocks that are next to each other and of one run are its; those between are of none. */
static void place_by_time(
	struct blocks *b, const struct clocks *clocks, const struct block_group *g)
{
	struct block_run *last = NULL;

	for (uint32_t i = g->first; i < g->first + g->count; i++) {
		struct block *block = &b->items.items[i];
		const struct clock_offset o = clocks_at(clocks, g->device, block->start_ns);
		struct block_run *run =
			run_of(b, g, block->start_ns + (uint64_t)o.offset_ns, o.error_ns);

		block->start_ns += (uint64_t)o.offset_ns;
		if (!run || (run->count && run != last)) {
			b->unplaced++;
			continue;
		}
		if (!run->count)
			run->first = i;
		run->error_ns = o.error_ns;
		run->count = i + 1 - run->first;
		last = run;
	}
}

static int place(struct blocks *b, const struct profile_reader *done)
{
	struct vec(uint32_t) by_time = {0}; /* groups */
	struct clocks clocks = {0};
	int error = 0;

	sort(b);
	find_members(b);
	for (size_t i = 0; !error && i < b->groups.count; i++)
		if (!give_by_order(b, &b->groups.items[i]))
			error = vec_push(&by_time, (uint32_t)i) ? no_memory() : 0;
	error = error ?: clocks_read(&clocks, b, done);
	if (!error) {
		vec_foreach (run, &b->runs)
			if (run->count)
				place_run(b, &clocks, run);
		vec_foreach (group, &by_time)
			place_by_time(b, &clocks, &b->groups.items[*group]);
	}
	clocks_release(&clocks);
	vec_release(&by_time);
	return error;
}

int blocks_read(struct blocks *b, const struct profile_reader *done, enum blocks_of of)
{
	int error;

	*b = (struct blocks){.source = &sources[of]};
	if (!profile_counts(done).probe_maps)
		return 0;
	error = read_all(b, done, EVENT_FOUND);
	if (!error && b->items.count)
		error = read_all(b, done, EVENT_WORK);
	return error || !b->items.count ? error : place(b, done);
}

void blocks_release(struct blocks *b)
{
	vec_release(&b->items);
	vec_release(&b->runs);
	vec_release(&b->groups);
	map_release(&b->group_of);
}

const struct block_run *blocks_of(
	const struct blocks *b, const struct profile_op *op, const struct profile_work *w)
{
	const uint64_t *group = w->grid ? find_group(b, op->process, op->device, w->grid) : NULL;
	const struct block_group *g = group ? &b->groups.items[*group] : NULL;

	const struct block_run *runs;
	size_t n;

	if (!g)
		return NULL;
	runs = b->runs.items + g->first_run;
	n = search_first(i, 0, g->run_count, runs[i].start_ns >= w->start_ns);
	return n < g->run_count && runs[n].start_ns == w->start_ns && runs[n].count ? &runs[n]
										    : NULL;
}
