// SPDX-License-Identifier: MIT
#include "view/waits/sums.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "view/names/launch_path.h"

void wait_sums_release(struct wait_sums *s)
{
	vec_release(&s->rows);
	interner_free(s->ids);
	s->ids = NULL;
	wait_shares_release(&s->wakers);
	meanwhile_release(&s->meanwhile);
}

/* Whether a waker was looked for. */
static bool is_watched(const struct profile_wait *w)
{
	return (w->reason == WAIT_LOCK || w->reason == WAIT_PROCESS) && w->duration_ns &&
	       (w->waker || (w->stack && !w->assumed));
}

static bool is_row(const struct wait_sum *a, const struct wait_sum *b)
{
	return a->thread == b->thread && a->reason == b->reason && a->stack == b->stack &&
	       a->waker == b->waker;
}

/* The id of the row of the same thread, reason, stack and waker: mostly one of those that were
 * looked for lately. */
static int find_row(
	struct wait_sums *s, const struct wait_sum *sum, uint32_t *ret_id, int *ret_added)
{
	const uint32_t key[] = {sum->thread, sum->reason, sum->stack, sum->waker};
	uint32_t *recent =
		&s->recent[(sum->thread * 31 + sum->reason * 7 + sum->stack + sum->waker * 13) %
			   WAIT_SUMS_RECENT];

	*ret_added = 0;
	if (!*recent || !is_row(&s->rows.items[*recent - 1], sum)) {
		if (interner_add(s->ids, key, sizeof(key), ret_id, ret_added) ||
			(*ret_added && vec_push(&s->rows, *sum) < 0))
			return -ENOMEM;
		*recent = *ret_id;
	}
	*ret_id = *recent;
	return 0;
}

/* Adds to the row of the same kind, and returns its number. */
static int add_row(struct wait_sums *s, const struct wait_sum *sum, uint32_t *ret_row)
{
	struct wait_sum *row;
	uint32_t id;
	int added;

	if (find_row(s, sum, &id, &added))
		return -ENOMEM;
	*ret_row = id - 1;
	row = &s->rows.items[id - 1];
	row->number = id - 1;
	if (added)
		return 0;
	row->count += sum->count;
	row->total_ns += sum->total_ns;
	row->queued_ns += sum->queued_ns;
	row->max_ns = sum->max_ns > row->max_ns ? sum->max_ns : row->max_ns;
	row->watched += sum->watched;
	row->watched_ns += sum->watched_ns;
	row->followed_ns += sum->followed_ns;
	return 0;
}

int wait_sums_add(struct wait_sums *s, const struct profile_wait *w)
{
	struct wait_sum sum = {.thread = w->thread,
		.reason = w->reason,
		.stack = w->stack,
		.count = (w->duration_ns && !w->cut.continued) + w->others,
		.max_ns = w->duration_ns,
		.watched = is_watched(w) && !w->cut.continued};
	uint64_t followed_ns;
	uint32_t row;
	int error;

	if (__builtin_add_overflow(w->duration_ns, w->others_ns, &sum.total_ns) ||
		__builtin_add_overflow(s->total_ns, sum.total_ns, &s->total_ns))
		return -EOVERFLOW;
	if (!s->ids && interner_new(&s->ids))
		return -ENOMEM;
	/* How long the others were in the run queue was not recorded, unless that is their
	 * reason. */
	sum.queued_ns = w->reason == WAIT_RUN_QUEUE ? sum.total_ns : w->queued_ns;
	s->reason_ns[w->reason] += sum.total_ns - sum.queued_ns;
	s->reason_ns[WAIT_RUN_QUEUE] += sum.queued_ns;
	if (is_watched(w)) {
		sum.watched_ns = w->duration_ns;
		sum.waker = w->waker;
	}
	error = add_row(s, &sum, &row);
	if (!error && sum.waker) {
		error = meanwhile_follow(&s->meanwhile, w, row, &followed_ns);
		s->rows.items[row].followed_ns += followed_ns;
	}
	return error ?: meanwhile_add_wait(&s->meanwhile, w, is_watched(w));
}

int wait_sums_add_sample(struct wait_sums *s, const struct profile_sample *e)
{
	return s->total_ns ? meanwhile_add_sample(&s->meanwhile, e) : 0;
}

/* Without the kernel's functions, which show how a thread waits rather than where; with them if
 * there are no others. */
static uint32_t program_part(const struct profile_reader *r, uint32_t stack)
{
	const struct profile_stack_node *n;

	for (uint32_t at = stack; (n = profile_stack_node(r, at)); at = n->parent) {
		const struct profile_location *l = profile_location(r, n->location);

		if (!l || l->kind != FRAME_KERNEL)
			return at;
	}
	return stack;
}

static int by_time(const void *left, const void *right)
{
	const struct wait_sum *a = left, *b = right;

	if (a->total_ns != b->total_ns)
		return a->total_ns > b->total_ns ? -1 : 1;
	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	if (a->stack != b->stack)
		return a->stack < b->stack ? -1 : 1;
	return (int)a->reason - (int)b->reason;
}

/* A row of one of the profiler's own threads, which do not count. */
static void leave_out(struct wait_sums *s, const struct wait_sum *sum)
{
	s->total_ns -= sum->total_ns;
	s->reason_ns[sum->reason] -= sum->total_ns - sum->queued_ns;
	s->reason_ns[WAIT_RUN_QUEUE] -= sum->queued_ns;
}

/* Adds to the row that all with the same functions become, and to its wakers. */
static int merge_row(struct wait_sums *s, const struct wait_sum *sum, uint32_t *ret_row)
{
	struct wait_share waker = {
		.thread = sum->waker, .count = sum->watched, .total_ns = sum->watched_ns};
	struct wait_sum row = *sum;
	int error;

	row.waker = 0;
	error = add_row(s, &row, ret_row);
	waker.row = *ret_row;
	return error || !sum->watched ? error : wait_shares_add(&s->wakers, &waker);
}

/* *ret_rows maps old rows to new ones, UINT32_MAX: it is left out; free() it. */
static int merge_rows(struct wait_sums *s, const struct internals *internals,
	const uint32_t *merged, uint32_t **ret_rows)
{
	struct wait_sums by_stack = {
		.rows = {s->rows.items, s->rows.count, s->rows.capacity}, .ids = s->ids};
	uint32_t *rows = malloc(by_stack.rows.count * sizeof(*rows));
	int error = rows ? 0 : -ENOMEM;

	s->rows = (typeof(s->rows)){0};
	s->ids = NULL;
	memset(s->recent, 0, sizeof(s->recent));
	error = error ?: interner_new(&s->ids);
	for (size_t i = 0; !error && i < by_stack.rows.count; i++) {
		struct wait_sum *sum = &by_stack.rows.items[i];

		rows[i] = UINT32_MAX;
		if (profile_is_profiler(internals->reader, sum->thread)) {
			leave_out(s, sum);
			continue;
		}
		sum->stack = sum->stack ? merged[program_part(internals->reader, sum->stack)] : 0;
		error = merge_row(s, sum, &rows[i]);
	}
	wait_sums_release(&by_stack);
	if (error)
		free(rows);
	else
		*ret_rows = rows;
	return error;
}

/* What was done meanwhile, by the new rows. */
static int merge_doings(struct wait_shares *s, const struct internals *internals,
	const uint32_t *merged, const uint32_t *rows)
{
	struct wait_shares by_stack = *s;
	int error = 0;

	*s = (struct wait_shares){0};
	for (size_t i = 0; !error && i < by_stack.items.count; i++) {
		struct wait_share *share = &by_stack.items.items[i];

		share->row = rows[share->row];
		share->stack =
			share->stack ? merged[program_part(internals->reader, share->stack)] : 0;
		if (share->row != UINT32_MAX)
			error = wait_shares_add(s, share);
	}
	wait_shares_release(&by_stack);
	return error;
}

int wait_sums_finish(struct wait_sums *s, const struct internals *internals)
{
	const uint32_t *merged;
	uint32_t *rows = NULL;
	int error;

	if (!s->rows.count)
		return 0;
	error = launch_path_merge(internals, PATH_PROGRAM, &merged);
	if (error)
		return error;
	error = merge_rows(s, internals, merged, &rows);
	error = error ?: merge_doings(&s->meanwhile.doings, internals, merged, rows);
	free(rows);
	interner_free(s->ids);
	s->ids = NULL;
	wait_shares_finish(&s->wakers);
	wait_shares_finish(&s->meanwhile.doings);
	if (!error && s->rows.count)
		qsort(s->rows.items, s->rows.count, sizeof(*s->rows.items), by_time);
	return error;
}
