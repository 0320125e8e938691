// SPDX-License-Identifier: MIT
#include "view/wait_sums.h"

#include <errno.h>
#include <stdlib.h>

#include "view/launch_path.h"

void wait_sums_release(struct wait_sums *s)
{
	vec_release(&s->rows);
	interner_free(s->ids);
	s->ids = NULL;
}

/* Adds to the row of the same thread, reason and stack. */
static int add_row(struct wait_sums *s, const struct wait_sum *sum)
{
	const uint32_t key[] = {sum->thread, sum->reason, sum->stack};
	struct wait_sum *row;
	uint32_t id;
	int added;

	if (interner_add(s->ids, key, sizeof(key), &id, &added) || (added && vec_push(&s->rows, *sum) < 0))
		return -ENOMEM;
	if (added)
		return 0;
	row = &s->rows.items[id - 1];
	row->count += sum->count;
	row->total_ns += sum->total_ns;
	row->queued_ns += sum->queued_ns;
	row->max_ns = sum->max_ns > row->max_ns ? sum->max_ns : row->max_ns;
	return 0;
}

int wait_sums_add(struct wait_sums *s, const struct profile_wait *w)
{
	struct wait_sum sum = {.thread = w->thread,
		.reason = w->reason,
		.stack = w->stack,
		.count = (w->duration_ns != 0) + w->others,
		.max_ns = w->duration_ns};

	if (__builtin_add_overflow(w->duration_ns, w->others_ns, &sum.total_ns) ||
		__builtin_add_overflow(s->total_ns, sum.total_ns, &s->total_ns))
		return -EOVERFLOW;
	if (!s->ids && interner_new(&s->ids))
		return -ENOMEM;
	/* What others it carries were in the run queue is not known, but where that is the reason. */
	sum.queued_ns = w->reason == WAIT_RUN_QUEUE ? sum.total_ns : w->queued_ns;
	s->reason_ns[w->reason] += sum.total_ns - sum.queued_ns;
	s->reason_ns[WAIT_RUN_QUEUE] += sum.queued_ns;
	return add_row(s, &sum);
}

/* Without the kernel's functions, which say how a thread waits rather than where; with them where nothing else is known. */
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

int wait_sums_finish(struct wait_sums *s, const struct internals *internals)
{
	struct wait_sums by_stack = *s;
	uint32_t *merged;
	int error;

	if (!s->rows.count)
		return 0;
	error = launch_path_merge(internals, &merged);
	if (error)
		return error;
	s->rows = (typeof(s->rows)){0};
	s->ids = NULL;
	error = interner_new(&s->ids);
	for (size_t i = 0; !error && i < by_stack.rows.count; i++) {
		struct wait_sum *sum = &by_stack.rows.items[i];

		if (profile_is_profiler(internals->reader, sum->thread)) {
			leave_out(s, sum);
			continue;
		}
		sum->stack = sum->stack ? merged[program_part(internals->reader, sum->stack)] : 0;
		error = add_row(s, sum);
	}
	free(merged);
	wait_sums_release(&by_stack);
	interner_free(s->ids);
	s->ids = NULL;
	if (s->rows.count)
		qsort(s->rows.items, s->rows.count, sizeof(*s->rows.items), by_time);
	return error;
}
