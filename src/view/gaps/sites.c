// SPDX-License-Identifier: MIT
#include "view/gaps/sites.h"

#include <errno.h>
#include <stdlib.h>

#include "base/large.h"

#define GROUP_MIN    3
#define GROUP_LONGER 10
#define SPREAD	     10

/* In these a sample would be due for the thread to have run. */
#define SAMPLES_DUE 4

static uint64_t length_of(const struct gap *gap)
{
	return gap->end_ns - gap->start_ns;
}

/* By what was launched after a gap, from where. */
static uint64_t site_of(const struct gap_sites *s, const struct gap *gap)
{
	const struct gap_work *w = &s->events->works.items[gap->next];

	return w->stack ? s->merged[w->stack] : (uint64_t)1 << 32 | w->op;
}

/* By cause, and the stack that shows it. */
static uint64_t cause_of(const struct gap_sites *s, const struct gap *gap)
{
	return (uint64_t)gap->cause << 32 | s->merged[gap->stack];
}

/* ------------------------------------------------------------------ sorting */

#define NUMBER_BYTES 8

static unsigned int byte_of(const struct gap_row *row, bool by_key, unsigned int byte)
{
	return (by_key ? row->key : row->ns) >> 8 * byte & 0xff;
}

/* The bits in which not all of some numbers are the same. */
static uint64_t find_differences(const struct gap_row *rows, size_t count, bool by_key)
{
	uint64_t different = 0;

	for (size_t i = 1; i < count; i++)
		different |= by_key ? rows[i].key ^ rows[0].key : rows[i].ns ^ rows[0].ns;
	return different;
}

/* By key or length, the shortest first; equal ones stay as they are: a byte after the other from
 * the lowest on, as far as there are differences. */
static void sort_rows(struct gap_rows *r, bool by_key)
{
	uint64_t different = find_differences(r->rows, r->count, by_key);

	for (unsigned int byte = 0; byte < NUMBER_BYTES; byte++) {
		size_t at[256] = {0}, sum = 0;
		struct gap_row *sorted = r->spare;

		if (!(different >> 8 * byte & 0xff))
			continue;
		for (size_t i = 0; i < r->count; i++)
			at[byte_of(&r->rows[i], by_key, byte)]++;
		for (unsigned int n = 0; n < 256; n++) {
			sum += at[n];
			at[n] = sum - at[n];
		}
		for (size_t i = 0; i < r->count; i++)
			sorted[at[byte_of(&r->rows[i], by_key, byte)]++] = r->rows[i];
		r->spare = r->rows;
		r->rows = sorted;
	}
}

/* Room for so many, of which none is kept. */
static int make_room(struct gap_rows *r, size_t count)
{
	if (count <= r->room)
		return 0;
	gap_rows_release(r);
	r->rows = large_alloc(count, sizeof(*r->rows));
	r->spare = large_alloc(count, sizeof(*r->spare));
	r->room = count;
	return r->rows && r->spare ? 0 : -ENOMEM;
}

int gap_rows_set(struct gap_rows *r, const struct gap *gaps, size_t first, size_t count)
{
	if (make_room(r, count))
		return -ENOMEM;
	r->count = count;
	for (size_t i = 0; i < count; i++)
		r->rows[i] = (struct gap_row){
			.ns = length_of(&gaps[first + i]), .gap = (uint32_t)(first + i)};
	sort_rows(r, false);
	return 0;
}

void gap_rows_release(struct gap_rows *r)
{
	free(r->rows);
	free(r->spare);
	*r = (struct gap_rows){0};
}

/* Where the rows of the next key begin. */
static size_t end_of(const struct gap_row *rows, size_t first, size_t count)
{
	size_t end = first;

	while (end < count && rows[end].key == rows[first].key)
		end++;
	return end;
}

/* ------------------------------------------------------------------ what one gap does not show */

/* The long gaps of a site. */
struct evidence {
	/* whose cause was found by waits, by samples */
	uint64_t waited_ns[GAP_CAUSES], sampled_ns[GAP_CAUSES];
	/* those not found by waits; the time that their samples stand for */
	uint64_t unwaited_ns, samples_ns;
	uint64_t period_ns;
	bool unexplained;
};

static void add_evidence(const struct gap_sites *s, const struct gap *gap, struct evidence *t)
{
	uint32_t thread = s->events->works.items[gap->next].thread;
	uint64_t ns = length_of(gap);

	t->unexplained |= gap->unexplained;
	if (gap->samples || gap->unexplained) {
		t->period_ns = s->events->threads.items[thread].period_ns;
		t->unwaited_ns += ns;
		t->samples_ns += gap->samples * t->period_ns;
	}
	if (gap->samples)
		t->sampled_ns[gap->cause] += ns;
	else if (gap->cause == GAP_INPUT || gap->cause == GAP_CPU)
		t->waited_ns[gap->cause] += ns;
}

static bool was_seen_to_run(const struct evidence *t)
{
	return t->samples_ns >= t->unwaited_ns / 2;
}

static enum gap_cause likely_cause(const struct gap_sites *s, const struct evidence *t)
{
	uint64_t best_ns = 0;
	unsigned int best = GAP_UNKNOWN;

	for (unsigned int i = 0; i < GAP_CAUSES; i++) {
		uint64_t ns = t->waited_ns[i] + (was_seen_to_run(t) ? t->sampled_ns[i] : 0);

		if (ns > best_ns) {
			best_ns = ns;
			best = i;
		}
	}
	if (best == GAP_UNKNOWN && s->events->has_waits &&
		(!t->period_ns || was_seen_to_run(t) ||
			t->unwaited_ns / t->period_ns < SAMPLES_DUE))
		return GAP_WORK;
	return best;
}

/* The stack of most of the gaps of a cause; 0: there is none. Majority vote: each gap is a vote for
 * its stack, or cancels one of another. */
static uint32_t likely_stack(
	const struct gap_sites *s, const struct gap_row *rows, size_t count, enum gap_cause cause)
{
	uint32_t best = 0;
	size_t votes = 0;

	for (size_t i = 0; i < count; i++) {
		const struct gap *gap = &s->gaps[rows[i].gap];

		if (gap->cause != cause || gap->unexplained || length_of(gap) <= GAP_LAUNCH_MAX_NS)
			continue;
		if (!votes)
			best = gap->stack;
		if (s->merged[gap->stack] == s->merged[best])
			votes++;
		else
			votes--;
	}
	return best;
}

/* The unexplained gaps of one site, by the others. */
static void explain(const struct gap_sites *s, const struct gap_row *rows, size_t count)
{
	struct evidence t = {0};
	enum gap_cause cause;
	uint32_t stack;

	for (size_t i = 0; i < count; i++)
		if (length_of(&s->gaps[rows[i].gap]) > GAP_LAUNCH_MAX_NS)
			add_evidence(s, &s->gaps[rows[i].gap], &t);
	if (!t.unexplained)
		return;
	cause = likely_cause(s, &t);
	stack = likely_stack(s, rows, count, cause);
	for (size_t i = 0; i < count; i++) {
		struct gap *gap = &s->gaps[rows[i].gap];

		if (!gap->unexplained)
			continue;
		gap->cause = (uint8_t)cause;
		gap->stack = stack ? stack : gap->stack;
	}
}

/* ------------------------------------------------------------------ what happens again */

/* How many of some gaps, by length, belong together. */
static size_t alike(const struct gap_row *rows, size_t count)
{
	uint64_t median_ns = rows[count / 2].ns;

	while (rows[count - 1].ns / GROUP_LONGER > median_ns)
		count--;
	return count;
}

static bool comes_again(const struct gap_sites *s, const struct gap_row *rows, size_t count)
{
	const struct gap *first = &s->gaps[rows[0].gap], *last = first;

	if (count < GROUP_MIN)
		return false;
	for (size_t i = 1; i < count; i++) {
		const struct gap *gap = &s->gaps[rows[i].gap];

		first = gap->next < first->next ? gap : first;
		last = gap->next > last->next ? gap : last;
	}
	return last->start_ns - first->start_ns > s->span_ns / SPREAD ||
	       last->next - first->next > s->works / SPREAD;
}

/* Sets `once` of these gaps, and returns how many are alike. */
static size_t judge(const struct gap_sites *s, const struct gap_row *rows, size_t count)
{
	size_t group = alike(rows, count);
	bool again = comes_again(s, rows, group);

	for (size_t i = 0; i < count; i++)
		s->gaps[rows[i].gap].once = i >= group || !again;
	return group;
}

/* Leaves those that happened once (so far), by cause and stack. */
static void keep_once(const struct gap_sites *s, struct gap_rows *r)
{
	size_t once = 0;

	for (size_t i = 0; i < r->count; i++)
		if (s->gaps[r->rows[i].gap].once) {
			r->rows[once] = r->rows[i];
			r->rows[once++].key = cause_of(s, &s->gaps[r->rows[i].gap]);
		}
	r->count = once;
	sort_rows(r, false);
	sort_rows(r, true);
}

void gap_sites_explain(const struct gap_sites *s, struct gap_rows *r)
{
	for (size_t i = 0; i < r->count; i++)
		r->rows[i].key = site_of(s, &s->gaps[r->rows[i].gap]);
	sort_rows(r, true);
	for (size_t first = 0, end; first < r->count; first = end) {
		end = end_of(r->rows, first, r->count);
		explain(s, r->rows + first, end - first);
		judge(s, r->rows + first, end - first);
	}
	keep_once(s, r);
	for (size_t first = 0, end; first < r->count; first = end) {
		end = end_of(r->rows, first, r->count);
		while (first < end)
			first += judge(s, r->rows + first, end - first);
	}
}
