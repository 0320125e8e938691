// SPDX-License-Identifier: MIT
#include "report/wait_rows.h"

#include <errno.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/map.h"
#include "report/call_path.h"

/* While rows are put together. */
struct merging {
	struct wait_rows *to;
	const struct report *r;
	struct map stacks;	  /* stack -> path: names are made once */
	struct interner *rows;	  /* process, name of thread, reason, path */
	struct interner *threads; /* row, thread */
	struct interner *sharers; /* row, whether it is of doings, thread, reason, path */
};

void wait_rows_release(struct wait_rows *w)
{
	vec_release(&w->rows);
	interner_free(w->paths);
	w->paths = NULL;
	wait_shares_release(&w->wakers);
	wait_shares_release(&w->doings);
}

static int find_path(struct merging *m, uint32_t stack, uint32_t *ret)
{
	const uint64_t *known = map_get(&m->stacks, stack);
	struct buf text = BUF_INIT;
	int error;

	if (known || !stack) {
		*ret = known ? (uint32_t)*known : 0;
		return 0;
	}
	report_call_path(m->r, &text, " at ", stack, REPORT_FUNCTIONS);
	error = text.failed ? -ENOMEM
			    : interner_add(m->to->paths, buf_text(&text), text.size, ret, NULL);
	error = error ?: map_put(&m->stacks, stack, *ret);
	buf_release(&text);
	return error;
}

static void add_sum(struct wait_sum *to, const struct wait_sum *s)
{
	to->count += s->count;
	to->total_ns += s->total_ns;
	to->queued_ns += s->queued_ns;
	to->max_ns = s->max_ns > to->max_ns ? s->max_ns : to->max_ns;
	to->watched_ns += s->watched_ns;
	to->followed_ns += s->followed_ns;
}

/* `is_doing`: what a thread did, else that it ended waits. */
static int add_share(struct merging *m, const struct wait_share *s, uint32_t row, bool is_doing)
{
	const struct profile_thread *t = profile_thread(m->r->reader, s->thread);
	struct wait_share share = {.row = row,
		.thread = t ? t->name + 1 : 0,
		.one = s->thread,
		.reason = s->reason,
		.count = s->count,
		.total_ns = s->total_ns};
	int error = find_path(m, s->stack, &share.stack), added;
	const uint32_t key[] = {row, is_doing, s->thread, s->reason, share.stack};
	uint32_t id;

	error = error ?: interner_add(m->sharers, key, sizeof(key), &id, &added);
	if (error)
		return error;
	share.threads = (uint32_t)added;
	return wait_shares_add(is_doing ? &m->to->doings : &m->to->wakers, &share);
}

static int add_shares(struct merging *m, const struct wait_sum *s, uint32_t row)
{
	const struct wait_sums *all = &m->r->summary->waits;
	struct wait_range wakers = wait_shares_of(&all->wakers, s->number);
	struct wait_range doings = wait_shares_of(&all->meanwhile.doings, s->number);
	int error = 0;

	for (size_t i = 0; !error && i < wakers.count; i++)
		error = add_share(m, &wakers.items[i], row, false);
	for (size_t i = 0; !error && i < doings.count; i++)
		error = add_share(m, &doings.items[i], row, true);
	return error;
}

static int merge(struct merging *m, const struct wait_sum *s)
{
	const struct profile_thread *t = profile_thread(m->r->reader, s->thread);
	struct wait_row new = {.sum = *s, .all = m->to};
	int error = find_path(m, s->stack, &new.path), row_added, thread_added;
	const uint32_t key[] = {t ? t->process : 0, t ? t->name : 0, s->reason, new.path};
	uint32_t row, id;

	if (error)
		return error;
	if (interner_add(m->rows, key, sizeof(key), &row, &row_added))
		return -ENOMEM;
	if (interner_add(m->threads, (const uint32_t[]){row, s->thread}, 2 * sizeof(row), &id,
		    &thread_added))
		return -ENOMEM;
	if (row_added && vec_push(&m->to->rows, new) < 0)
		return -ENOMEM;
	m->to->rows.items[row - 1].sum.number = row - 1;
	if (!row_added)
		add_sum(&m->to->rows.items[row - 1].sum, s);
	m->to->rows.items[row - 1].thread_count += (uint32_t)thread_added;
	return add_shares(m, s, row - 1);
}

static int by_time(const void *left, const void *right)
{
	const struct wait_row *a = left, *b = right;

	if (a->sum.total_ns != b->sum.total_ns)
		return a->sum.total_ns > b->sum.total_ns ? -1 : 1;
	if (a->sum.thread != b->sum.thread)
		return a->sum.thread < b->sum.thread ? -1 : 1;
	if (a->path != b->path)
		return a->path < b->path ? -1 : 1;
	return (int)a->sum.reason - (int)b->sum.reason;
}

int wait_rows_init(struct wait_rows *w, const struct report *r)
{
	const struct wait_sums *s = &r->summary->waits;
	struct merging m = {.to = w, .r = r};
	int error;

	*w = (struct wait_rows){0};
	error = interner_new(&w->paths);
	error = error ?: interner_new(&m.rows);
	error = error ?: interner_new(&m.threads);
	error = error ?: interner_new(&m.sharers);
	for (size_t i = 0; !error && i < s->rows.count; i++)
		error = merge(&m, &s->rows.items[i]);
	wait_shares_finish(&w->wakers);
	wait_shares_finish(&w->doings);
	if (!error && w->rows.count)
		qsort(w->rows.items, w->rows.count, sizeof(*w->rows.items), by_time);
	map_release(&m.stacks);
	interner_free(m.rows);
	interner_free(m.threads);
	interner_free(m.sharers);
	return error;
}
