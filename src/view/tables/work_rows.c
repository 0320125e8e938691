// SPDX-License-Identifier: MIT
/*
 * Kinds of work that differ in shape only are put together by name, and stacks that differ in
 * addresses only by the names of their functions.
 */
#include "view/tables/work_rows.h"

#include <errno.h>
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
	const uint32_t *merged;	    /* see launch_path_merge */
	uint32_t *path_of;	    /* by stack: its path + 1; 0: not looked up yet */
	uint64_t *path_ns;	    /* by path: the time of one kernel */
	struct vec(uint32_t) paths; /* that have some */
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

/* Adds the time of a kind of work to the ways to its kernel. */
static int add_times(struct work_rows *w, const struct launch_sums *sums)
{
	for (size_t n = 0; n < sums->count; n++) {
		const struct launch_sum *sum = &sums->items[n];
		uint32_t path = path_of(w, sum->stack);

		if (n + AHEAD < sums->count)
			__builtin_prefetch(&w->path_of[sum[AHEAD].stack]);
		if (sum->ns && !w->path_ns[path] && vec_push(&w->paths, path))
			return -ENOMEM;
		w->path_ns[path] += sum->ns;
	}
	return 0;
}

/* Of equal ones the first stack. */
static void find_hottest(struct work_rows *w, struct summary_kernel *k)
{
	vec_foreach (path, &w->paths) {
		uint64_t ns = w->path_ns[*path];

		w->path_ns[*path] = 0;
		if (!*path ||
			(k->stack && (ns < k->stack_ns || (ns == k->stack_ns && *path > k->stack))))
			continue;
		k->stack = *path;
		k->stack_ns = ns;
	}
	w->paths.count = 0;
}

static int find_paths(struct work_rows *w)
{
	size_t stacks = (size_t)profile_counts(w->g->r).stack_nodes + 1;
	int error = launch_frames_init(&w->frames, w->g->r);

	w->path_of = calloc(stacks, sizeof(*w->path_of));
	w->path_ns = calloc(stacks, sizeof(*w->path_ns));
	if (error || !w->path_of || !w->path_ns)
		return -ENOMEM;
	large_advise(w->path_of, stacks * sizeof(*w->path_of));
	large_advise(w->path_ns, stacks * sizeof(*w->path_ns));
	error = launch_path_merge(&w->g->s->internals, PATH_PROGRAM, &w->merged);
	for (size_t at = 0; !error && at < w->first.count; at++) {
		for (uint32_t id = w->first.items[at]; !error && id; id = w->next[id]) {
			error = add_times(w, &gathering_op(w->g, id)->stacks);
			launch_sums_release(&gathering_op(w->g, id)->stacks);
		}
		find_hottest(w, &w->g->s->kernels.items[at]);
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
	launch_sums_index_release(&g->index);
	if (!error && g->s->kernels.count)
		error = find_paths(&w);
	map_release(&w.kernels);
	map_release(&w.copies);
	map_release(&w.sets);
	vec_release(&w.first);
	vec_release(&w.paths);
	launch_frames_release(&w.frames);
	free(w.next);
	free(w.path_of);
	free(w.path_ns);
	return error;
}
