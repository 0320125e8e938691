// SPDX-License-Identifier: MIT
/*
 *	settled | run   run  run      run   <- newest, where nearly every interval goes
 *	        ^ settled_end
 *	late: intervals that began before the newest run, unsorted
 *
 * Most late intervals began before a few runs only, and are put there at once. The others are
 * sorted and merged in when there are many of them. When there are more runs than the window holds,
 * the older half is settled.
 */
#include "base/busy.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

/* Merging costs a pass over all runs, so it waits for this many late intervals. */
#define LATE_MAX ((size_t)32 << 10)
/* This many runs are tried before an interval goes to the late ones. */
#define NEAR_MAX 16

void busy_release(struct busy *b)
{
	free(b->runs);
	free(b->late);
	*b = BUSY_INIT;
}

static int by_start(const void *left, const void *right)
{
	const struct busy_interval *a = left, *b = right;

	return a->start_ns < b->start_ns ? -1 : a->start_ns > b->start_ns;
}

/* Appends an interval that begins at or after the last run's start. There is room. */
static size_t join(struct busy_interval *runs, size_t count, struct busy_interval i)
{
	if (count && i.start_ns <= runs[count - 1].end_ns) {
		if (i.end_ns > runs[count - 1].end_ns)
			runs[count - 1].end_ns = i.end_ns;
		return count;
	}
	runs[count] = i;
	return count + 1;
}

/* Cuts off what lies in settled time. */
static void clip(struct busy *b, struct busy_interval *i)
{
	uint64_t end = i->end_ns < b->settled_end ? i->end_ns : b->settled_end;

	if (i->start_ns >= b->settled_end)
		return;
	b->uncertain_ns += end - i->start_ns;
	i->start_ns = b->settled_end;
	if (i->end_ns < i->start_ns)
		i->end_ns = i->start_ns;
}

static int merge_late(struct busy *b)
{
	size_t room = b->run_count + b->late_count, count = 0, r = 0, l = 0;
	struct busy_interval *merged;

	if (!b->late_count)
		return 0;
	merged = malloc(room * sizeof(*merged));
	if (!merged)
		return -ENOMEM;
	for (size_t i = 0; i < b->late_count; i++)
		clip(b, &b->late[i]);
	qsort(b->late, b->late_count, sizeof(*b->late), by_start);
	while (r < b->run_count || l < b->late_count) {
		bool take_run = l >= b->late_count ||
				(r < b->run_count && b->runs[r].start_ns <= b->late[l].start_ns);
		struct busy_interval next = take_run ? b->runs[r++] : b->late[l++];

		if (next.end_ns > next.start_ns)
			count = join(merged, count, next);
	}
	free(b->runs);
	b->runs = merged;
	b->run_count = count;
	b->run_capacity = room;
	b->late_count = 0;
	return 0;
}

static void settle(struct busy *b, size_t count)
{
	for (size_t i = 0; i < count; i++)
		b->settled_ns += b->runs[i].end_ns - b->runs[i].start_ns;
	b->settled_end = b->runs[count - 1].end_ns;
	b->run_count -= count;
	memmove(b->runs, b->runs + count, b->run_count * sizeof(*b->runs));
}

static int add_late(struct busy *b, struct busy_interval i)
{
	int error =
		vec_grow((void **)&b->late, &b->late_capacity, b->late_count, 1, sizeof(*b->late));

	if (error)
		return error;
	b->late[b->late_count++] = i;
	return b->late_count < LATE_MAX ? 0 : merge_late(b);
}

/* The run that began last before (or with) a late interval; false: it is too far back, or there is
 * no room for one more. */
static bool find_near(const struct busy *b, size_t window, uint64_t start_ns, size_t *ret)
{
	size_t at = b->run_count, last = at > NEAR_MAX ? at - NEAR_MAX : 0;

	while (at > last && b->runs[at - 1].start_ns > start_ns)
		at--;
	*ret = at - 1;
	return at > last && b->run_count < window;
}

/* Puts an interval into a run or behind it, and joins what follows and now touches. */
static int add_near(struct busy *b, size_t at, struct busy_interval i)
{
	size_t next = at + 1;
	int error =
		vec_grow((void **)&b->runs, &b->run_capacity, b->run_count, 1, sizeof(*b->runs));

	if (error)
		return error;
	if (i.start_ns > b->runs[at].end_ns) {
		at++;
		memmove(&b->runs[at + 1], &b->runs[at], (b->run_count++ - at) * sizeof(i));
		b->runs[at] = i;
		next++;
	}
	if (i.end_ns > b->runs[at].end_ns)
		b->runs[at].end_ns = i.end_ns;
	for (; next < b->run_count && b->runs[next].start_ns <= b->runs[at].end_ns; next++)
		if (b->runs[next].end_ns > b->runs[at].end_ns)
			b->runs[at].end_ns = b->runs[next].end_ns;
	memmove(&b->runs[at + 1], &b->runs[next], (b->run_count - next) * sizeof(i));
	b->run_count -= next - at - 1;
	return 0;
}

int busy_add(struct busy *b, uint64_t start_ns, uint64_t end_ns)
{
	size_t window = b->window ? b->window : BUSY_WINDOW;
	struct busy_interval i = {start_ns, end_ns};
	size_t near;
	int error;

	if (end_ns <= start_ns)
		return 0;
	if (b->run_count ? start_ns < b->runs[b->run_count - 1].start_ns
			 : start_ns < b->settled_end)
		return find_near(b, window, start_ns, &near) ? add_near(b, near, i)
							     : add_late(b, i);
	if (b->run_count >= window) {
		error = merge_late(b);
		if (error)
			return error;
		if (b->run_count > window / 2)
			settle(b, b->run_count - window / 2);
	}
	error = vec_grow((void **)&b->runs, &b->run_capacity, b->run_count, 1, sizeof(*b->runs));
	if (error)
		return error;
	b->run_count = join(b->runs, b->run_count, i);
	return 0;
}

int busy_total(struct busy *b, uint64_t *ret_busy_ns, uint64_t *ret_uncertain_ns)
{
	uint64_t total = b->settled_ns;
	int error = merge_late(b);

	if (error)
		return error;
	for (size_t i = 0; i < b->run_count; i++)
		total += b->runs[i].end_ns - b->runs[i].start_ns;
	*ret_busy_ns = total;
	*ret_uncertain_ns = b->uncertain_ns;
	return 0;
}
