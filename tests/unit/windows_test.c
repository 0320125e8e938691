// SPDX-License-Identifier: MIT
/* Windows in which calls are observed: that they keep the budget, and come at random times. */
#include "base/clock.h"
#include "capture/windows.h"
#include "tap.h"

#define BEGIN_NS (1000 * NS_PER_SECOND)

/* Plans and ends windows until a time is over, of which each costs so much: what all cost. */
static uint64_t spend(struct windows *w, uint64_t for_ns, uint64_t cost_ns, unsigned int *ret_count)
{
	uint64_t spent_ns = 0;

	*ret_count = 0;
	while (w->planned_ns < BEGIN_NS + for_ns) {
		CHECK(w->since_ns <= w->planned_ns && w->planned_ns + w->length_ns <= w->until_ns);
		windows_end(w, w->planned_ns + w->length_ns, cost_ns);
		windows_next(w);
		spent_ns += cost_ns;
		++*ret_count;
	}
	return spent_ns;
}

static void a_budget_is_kept(void)
{
	static const uint32_t overheads[] = {100, 1000, 10000, 50000};
	static const uint64_t costs_ns[] = {NS_PER_MS, 5 * NS_PER_MS, 40 * NS_PER_MS};

	for (int o = 0; o < 4; o++)
		for (int c = 0; c < 3; c++) {
			uint64_t allowed_ns = 1000 * NS_PER_SECOND / 1000000 * overheads[o],
				 spent_ns;
			struct windows w;
			unsigned int count;

			windows_begin(&w, overheads[o], BEGIN_NS, 7);
			spent_ns = spend(&w, 1000 * NS_PER_SECOND, costs_ns[c], &count);
			/* the last may have come early in its period */
			CHECK(spent_ns <= allowed_ns + 2 * costs_ns[c]);
			/* and it is used, but where windows cannot follow each other faster */
			CHECK(count < 3 || spent_ns > allowed_ns / 2 ||
				w.until_ns - w.since_ns <= 5 * w.length_ns);
		}
}

static void a_window_that_cost_more_is_paid_for_later(void)
{
	struct windows w;
	uint64_t before_ns;

	windows_begin(&w, 10000, BEGIN_NS, 7);
	windows_end(&w, w.until_ns, NS_PER_MS);
	windows_next(&w);
	before_ns = w.until_ns - w.since_ns;
	windows_end(&w, w.until_ns, 100 * NS_PER_MS);
	windows_next(&w);
	CHECK(w.until_ns - w.since_ns > 10 * before_ns);
}

static void windows_that_cost_nothing_leave_time_between_them(void)
{
	struct windows w;

	windows_begin(&w, 10000, BEGIN_NS, 7);
	for (int i = 0; i < 100; i++) {
		windows_end(&w, w.until_ns, 0);
		windows_next(&w);
		CHECK(w.until_ns - w.since_ns >= 4 * w.length_ns);
	}
}

static void a_small_budget_has_short_windows(void)
{
	struct windows small, large;

	windows_begin(&small, 10, BEGIN_NS, 7);
	windows_begin(&large, 100000, BEGIN_NS, 7);
	CHECK(small.length_ns == NS_PER_MS && large.length_ns == 20 * NS_PER_MS);
}

/* All parts of periods are as likely, so the mean of many is near the middle. */
static void they_come_at_random_times_of_their_periods(void)
{
	double sum = 0;
	struct windows w;

	windows_begin(&w, 10000, BEGIN_NS, 7);
	for (int i = 0; i < 10000; i++) {
		sum += (double)(w.planned_ns - w.since_ns) /
		       (double)(w.until_ns - w.since_ns - w.length_ns);
		windows_end(&w, w.until_ns, NS_PER_MS);
		windows_next(&w);
	}
	CHECK(sum / 10000 > 0.48 && sum / 10000 < 0.52);
}

static void a_period_lasts_until_its_window_is_over(void)
{
	struct windows w;
	uint64_t late_ns;

	windows_begin(&w, 10000, BEGIN_NS, 7);
	late_ns = w.until_ns + NS_PER_SECOND;
	windows_end(&w, late_ns, NS_PER_MS);
	CHECK(w.until_ns == late_ns);
	windows_next(&w);
	CHECK(w.since_ns == late_ns);
}

static void one_that_is_cut_short_stands_for_less(void)
{
	struct windows w;
	uint64_t half_ns, since_ns;

	windows_begin(&w, 10000, BEGIN_NS, 7);
	half_ns = w.length_ns / 2;
	since_ns = windows_cut(&w, w.planned_ns, w.planned_ns + half_ns);
	CHECK(since_ns >= w.since_ns && since_ns <= w.planned_ns);
	CHECK(since_ns == w.since_ns ||
		w.planned_ns + half_ns - since_ns == (w.until_ns - w.since_ns) / 2);
	/* one that was hardly begun */
	since_ns = windows_cut(&w, w.planned_ns, w.planned_ns);
	CHECK(since_ns == w.planned_ns);
}

int main(void)
{
	RUN(a_budget_is_kept);
	RUN(a_window_that_cost_more_is_paid_for_later);
	RUN(windows_that_cost_nothing_leave_time_between_them);
	RUN(a_small_budget_has_short_windows);
	RUN(they_come_at_random_times_of_their_periods);
	RUN(a_period_lasts_until_its_window_is_over);
	RUN(one_that_is_cut_short_stands_for_less);
	return tap_end();
}
