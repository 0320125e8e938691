// SPDX-License-Identifier: MIT
/*
 * Kinds of work that differ in shape only are put together by name, and stacks that differ in
 * addresses only by the names of their functions.
 */
#include "view/tables/work_rows.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "base/large.h"
#include "view/names/launch_path.h"
#include "view/tables/row_for.h"

#define AHEAD 16 /* sums, of which what is looked up is asked for */

/* What comes behind the last event. */
struct work_rows {
	struct gathering *g;
	struct map kernels, copies, sets; /* keys -> rows */
	/* the kinds of work of a kernel: by its row the first, by kind the next; 0: none */
	struct vec(uint32_t) first;
	uint32_t *next;
	struct launch_frames frames;
	const uint32_t *merged; /* see launch_path_merge */
	uint32_t *path_of;	/* by stack: its path + 1; 0: not looked up yet */
};

static void join_times(struct summary_time *t, const struct summary_time *more)
{
	if (more->count && (!t->count || more->min_ns < t->min_ns))
		t->min_ns = more->min_ns;
	if (more->max_ns > t->max_ns)
		t->max_ns = more->max_ns;
	t->count += more->count;
	t->total_ns += more->total_ns;
}

static int put_kernel(
	struct work_rows *w, uint32_t id, const struct profile_op *op, const struct op_sum *sum)
{
	struct summary *s = w->g->s;
	ssize_t at = row_for(&w->kernels, op->name, &s->kernels);

	if (at < 0 || (w->first.count < s->kernels.count && vec_push(&w->first, 0)))
		return -ENOMEM;
	s->kernels.items[at].name = op->name;
	join_times(&s->kernels.items[at].time, &sum->time);
	w->next[id] = w->first.items[at];
	w->first.items[at] = id;
	return 0;
}

static int put_copy(struct work_rows *w, const struct profile_op *op, const struct op_sum *sum)
{
	ssize_t at = row_for(&w->copies,
		gathering_copy_key(op->copy_kind, op->source_memory, op->target_memory),
		&w->g->s->copies);
	struct summary_copy *row;

	if (at < 0)
		return -ENOMEM;
	row = &w->g->s->copies.items[at];
	row->kind = op->copy_kind;
	row->source = op->source_memory;
	row->target = op->target_memory;
	row->bytes += sum->bytes;
	join_times(&row->time, &sum->time);
	return 0;
}

static int put_set(struct work_rows *w, const struct profile_op *op, const struct op_sum *sum)
{
	ssize_t at = row_for(&w->sets, op->target_memory, &w->g->s->sets);

	if (at < 0)
		return -ENOMEM;
	w->g->s->sets.items[at].target = op->target_memory;
	w->g->s->sets.items[at].bytes += sum->bytes;
	join_times(&w->g->s->sets.items[at].time, &sum->time);
	return 0;
}

/* ------------------------------------------------------------------ the ways to them */

static uint32_t path_of(struct work_rows *w, uint32_t stack)
{
	if (!w->path_of[stack])
		w->path_of[stack] = w->merged[launch_path_of(&w->frames, stack)] + 1;
	return w->path_of[stack] - 1;
}

/* The stacks become ways. */
static void turn_to_paths(struct work_rows *w, struct launch_sums *sums)
{
	for (size_t n = 0; n < sums->count; n++) {
		struct launch_sum *sum = &sums->items[n];

		if (n + AHEAD < sums->count)
			__builtin_prefetch(&w->path_of[sum[AHEAD].stack]);
		sum->stack = path_of(w, sum->stack);
		sum->works = 0;
	}
	vec_foreach (sum, &sums->longs)
		sum->stack = path_of(w, sum->stack);
}

static int add_all(
	struct launch_sums *to, struct launch_sums_index *x, const struct launch_sums *from)
{
	int error = 0;

	for (size_t n = 0; !error && n < from->count; n++)
		error = launch_sums_add(to, x, from->items[n].stack, from->items[n].ns, 0);
	vec_foreach (sum, &from->longs)
		error = error ?: launch_sums_add(to, x, sum->stack, sum->ns, 0);
	return error;
}

/* The times of all ways to a kernel, in the list of its first kind of work. */
static int join_paths(struct work_rows *w, uint32_t first)
{
	struct launch_sums *all = &gathering_op(w->g, first)->stacks;
	int error = 0;

	turn_to_paths(w, all);
	for (uint32_t id = w->next[first]; !error && id; id = w->next[id]) {
		struct launch_sums *more = &gathering_op(w->g, id)->stacks;

		turn_to_paths(w, more);
		error = add_all(all, &w->g->index, more);
		launch_sums_release(more);
	}
	return error ?: launch_sums_merge(all, &w->g->index);
}

static int by_stack(const void *key, const void *sum)
{
	uint32_t stack = *(const uint32_t *)key,
		 other = ((const struct launch_sum_long *)sum)->stack;

	return stack < other ? -1 : stack > other;
}

static uint64_t long_ns_of(const struct launch_sums *sums, uint32_t stack)
{
	const struct launch_sum_long *sum =
		sums->longs.count ? bsearch(&stack, sums->longs.items, sums->longs.count,
					    sizeof(*sums->longs.items), by_stack)
				  : NULL;

	return sum ? sum->ns : 0;
}

/* Of equal ones the first stack. */
static void find_hottest(struct summary_kernel *k, const struct launch_sums *paths)
{
	for (size_t n = 0; n < paths->count; n++) {
		uint32_t stack = paths->items[n].stack;
		uint64_t ns = paths->items[n].ns + long_ns_of(paths, stack);

		if (!stack || !ns ||
			(k->stack && (ns < k->stack_ns || (ns == k->stack_ns && stack > k->stack))))
			continue;
		k->stack = stack;
		k->stack_ns = ns;
	}
}

static int make_paths(struct work_rows *w)
{
	size_t stacks = (size_t)profile_counts(w->g->r).stack_nodes + 1;

	if (launch_frames_init(&w->frames, w->g->r) ||
		launch_path_merge(&w->g->s->internals, PATH_PROGRAM, &w->merged))
		return -ENOMEM;
	w->path_of = large_zeros(stacks, sizeof(*w->path_of));
	return w->path_of ? 0 : -ENOMEM;
}

static int find_paths(struct work_rows *w)
{
	int error = make_paths(w);

	for (size_t at = 0; !error && at < w->first.count; at++) {
		struct launch_sums *paths = &gathering_op(w->g, w->first.items[at])->stacks;

		error = join_paths(w, w->first.items[at]);
		if (!error)
			find_hottest(&w->g->s->kernels.items[at], paths);
		launch_sums_release(paths);
	}
	return error;
}

/* ------------------------------------------------------------------ all */

static int count_works(const struct gathering *g, const struct launch_sums *sums)
{
	int error = 0;

	for (size_t n = 0; !error && n < sums->count; n++) {
		if (n + AHEAD < sums->count)
			__builtin_prefetch(&g->uses.notes[sums->items[n + AHEAD].stack]);
		error = stack_uses_add_works(
			&g->uses, g->s, sums->items[n].stack, sums->items[n].works);
	}
	vec_foreach (sum, &sums->longs)
		error = error ?: stack_uses_add_works(&g->uses, g->s, sum->stack, sum->works);
	return error;
}

static int put_work(struct work_rows *w, uint32_t id)
{
	const struct op_sum *sum = gathering_op(w->g, id);
	const struct profile_op *op =
		summary_was_there(&sum->time) ? profile_op(w->g->r, id) : NULL;
	int error = count_works(w->g, &sum->stacks);

	if (error || !op)
		return error;
	switch (op->kind) {
	case OP_KERNEL:
		return put_kernel(w, id, op, sum);
	case OP_COPY:
		return put_copy(w, op, sum);
	case OP_SET:
		break;
	}
	return put_set(w, op, sum);
}

int work_rows_put(struct gathering *g)
{
	struct work_rows w = {.g = g, .next = calloc(g->ops.count + 1, sizeof(*w.next))};
	int error = w.next ? 0 : -ENOMEM;

	for (uint32_t id = 0; !error && id < g->ops.count; id++)
		error = put_work(&w, id);
	stack_uses_release(&g->uses);
	/* what lists left behind that became longer */
	malloc_trim(0);
	if (!error && g->s->kernels.count)
		error = find_paths(&w);
	map_release(&w.kernels);
	map_release(&w.copies);
	map_release(&w.sets);
	vec_release(&w.first);
	launch_frames_release(&w.frames);
	free(w.next);
	free(w.path_of);
	return error;
}
