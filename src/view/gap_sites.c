// SPDX-License-Identifier: MIT
#include "view/gap_sites.h"

#include <stdlib.h>

#define GROUP_MIN    3
#define GROUP_LONGER 10
#define SPREAD	     10

/* In these a sample would be due for the thread to have run. */
#define SAMPLES_DUE 4

static int order_of(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

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

/* By cause, and where it shows. */
static uint64_t place_of(const struct gap_sites *s, const struct gap *gap)
{
	return (uint64_t)gap->cause << 32 | s->merged[gap->stack];
}

static int by_site(const void *left, const void *right, void *sites)
{
	const struct gap_sites *s = sites;
	const struct gap *a = &s->gaps[*(const uint32_t *)left], *b = &s->gaps[*(const uint32_t *)right];
	int different = order_of(site_of(s, a), site_of(s, b));

	return different ? different : order_of(length_of(a), length_of(b));
}

static int by_place(const void *left, const void *right, void *sites)
{
	const struct gap_sites *s = sites;
	const struct gap *a = &s->gaps[*(const uint32_t *)left], *b = &s->gaps[*(const uint32_t *)right];
	int different = order_of(place_of(s, a), place_of(s, b));

	return different ? different : order_of(length_of(a), length_of(b));
}

/* Where the next site (place) begins. */
static size_t end_of(const struct gap_sites *s, const uint32_t *order, size_t first, size_t count,
	uint64_t (*key_of)(const struct gap_sites *, const struct gap *))
{
	size_t end = first;

	while (end < count && key_of(s, &s->gaps[order[end]]) == key_of(s, &s->gaps[order[first]]))
		end++;
	return end;
}

/* ------------------------------------------------------------------ what is not known of one gap */

/* The long gaps of a site. */
struct told {
	uint64_t waited_ns[GAP_CAUSES], sampled_ns[GAP_CAUSES]; /* whose cause was found by waits, by samples */
	uint64_t unwaited_ns, samples_ns; /* those not found by waits; the time that their samples stand for */
	uint64_t period_ns;
	bool untold;
};

static void add_told(const struct gap_sites *s, const struct gap *gap, struct told *t)
{
	uint32_t thread = s->events->works.items[gap->next].thread;
	uint64_t ns = length_of(gap);

	t->untold |= gap->untold;
	if (gap->samples || gap->untold) {
		t->period_ns = s->events->threads.items[thread].period_ns;
		t->unwaited_ns += ns;
		t->samples_ns += gap->samples * t->period_ns;
	}
	if (gap->samples)
		t->sampled_ns[gap->cause] += ns;
	else if (gap->cause == GAP_INPUT || gap->cause == GAP_CPU)
		t->waited_ns[gap->cause] += ns;
}

static bool was_seen_to_run(const struct told *t)
{
	return t->samples_ns >= t->unwaited_ns / 2;
}

static enum gap_cause likely_cause(const struct gap_sites *s, const struct told *t)
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
		(!t->period_ns || was_seen_to_run(t) || t->unwaited_ns / t->period_ns < SAMPLES_DUE))
		return GAP_WORK;
	return best;
}

/* The place of most of the gaps of a cause, if there is such a one; 0: of none. Each gap speaks for its place, or takes a
 * voice from another. */
static uint32_t likely_stack(const struct gap_sites *s, const uint32_t *order, size_t count, enum gap_cause cause)
{
	uint32_t best = 0;
	size_t votes = 0;

	for (size_t i = 0; i < count; i++) {
		const struct gap *gap = &s->gaps[order[i]];

		if (gap->cause != cause || gap->untold || length_of(gap) <= GAP_LAUNCH_MAX_NS)
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

/* Of one site. */
static void tell_untold(const struct gap_sites *s, const uint32_t *order, size_t count)
{
	struct told t = {0};
	enum gap_cause cause;
	uint32_t stack;

	for (size_t i = 0; i < count; i++)
		if (length_of(&s->gaps[order[i]]) > GAP_LAUNCH_MAX_NS)
			add_told(s, &s->gaps[order[i]], &t);
	if (!t.untold)
		return;
	cause = likely_cause(s, &t);
	stack = likely_stack(s, order, count, cause);
	for (size_t i = 0; i < count; i++) {
		struct gap *gap = &s->gaps[order[i]];

		if (!gap->untold)
			continue;
		gap->cause = (uint8_t)cause;
		gap->stack = stack ? stack : gap->stack;
	}
}

/* ------------------------------------------------------------------ what happens again */

/* How many of some gaps, by length, belong together. */
static size_t alike(const struct gap_sites *s, const uint32_t *order, size_t count)
{
	uint64_t median_ns = length_of(&s->gaps[order[count / 2]]);

	while (length_of(&s->gaps[order[count - 1]]) / GROUP_LONGER > median_ns)
		count--;
	return count;
}

static bool comes_again(const struct gap_sites *s, const uint32_t *order, size_t count)
{
	const struct gap *first = &s->gaps[order[0]], *last = first;

	if (count < GROUP_MIN)
		return false;
	for (size_t i = 1; i < count; i++) {
		const struct gap *gap = &s->gaps[order[i]];

		first = gap->next < first->next ? gap : first;
		last = gap->next > last->next ? gap : last;
	}
	return last->start_ns - first->start_ns > s->span_ns / SPREAD || last->next - first->next > s->works / SPREAD;
}

/* Says so of those that are alike, and returns how many they are. */
static size_t judge(const struct gap_sites *s, const uint32_t *order, size_t count)
{
	size_t group = alike(s, order, count);
	bool again = comes_again(s, order, group);

	for (size_t i = 0; i < count; i++)
		s->gaps[order[i]].once = i >= group || !again;
	return group;
}

/* Moves those that happened once (so far) to the front; returns how many. */
static size_t part_once(const struct gap_sites *s, uint32_t *order, size_t count)
{
	size_t once = 0;

	for (size_t i = 0; i < count; i++)
		if (s->gaps[order[i]].once) {
			uint32_t index = order[i];

			order[i] = order[once];
			order[once++] = index;
		}
	return once;
}

void gap_sites_tell(const struct gap_sites *s, uint32_t *order, size_t count)
{
	qsort_r(order, count, sizeof(*order), by_site, (void *)s);
	for (size_t first = 0, end; first < count; first = end) {
		end = end_of(s, order, first, count, site_of);
		tell_untold(s, order + first, end - first);
		judge(s, order + first, end - first);
	}
	count = part_once(s, order, count);
	qsort_r(order, count, sizeof(*order), by_place, (void *)s);
	for (size_t first = 0, end; first < count; first = end) {
		end = end_of(s, order, first, count, place_of);
		while (first < end)
			first += judge(s, order + first, end - first);
	}
}
