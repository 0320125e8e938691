// SPDX-License-Identifier: MIT
/* The union of intervals against a dumb twin that marks every nanosecond; the histogram against
 * sorting. */
#include <stdlib.h>

#include "tap.h"
#include "base/busy.h"
#include "base/histogram.h"

#define SPAN 20000

static uint64_t total_of(struct busy *b, uint64_t *ret_uncertain)
{
	uint64_t total = 0;

	CHECK(busy_total(b, &total, ret_uncertain) == 0);
	return total;
}

static void overlapping_and_touching_intervals_count_once(void)
{
	struct busy b = BUSY_INIT;
	uint64_t uncertain = 1;

	busy_add(&b, 10, 20);
	busy_add(&b, 15, 30);
	busy_add(&b, 30, 35);
	busy_add(&b, 12, 14);
	busy_add(&b, 40, 50);
	busy_add(&b, 60, 60);
	busy_add(&b, 90, 80);
	CHECK(total_of(&b, &uncertain) == 35);
	CHECK(uncertain == 0);
	busy_release(&b);
}

static void nothing_is_busy_for_no_time(void)
{
	struct busy b = BUSY_INIT;
	uint64_t uncertain = 1;

	CHECK(total_of(&b, &uncertain) == 0);
	CHECK(uncertain == 0);
	busy_release(&b);
}

/* Adds random intervals, around a start that drifts by `drift` with `jitter` around it, to both
 * twins. */
static void compare_with_twin(unsigned int seed, unsigned int count, unsigned int drift,
	unsigned int jitter, size_t window)
{
	static unsigned char marked[SPAN];
	struct busy b = {.window = window};
	uint64_t expected = 0, uncertain, total;

	memset(marked, 0, sizeof(marked));
	for (unsigned int i = 0; i < count; i++) {
		unsigned int start =
			(i * drift + (unsigned int)rand_r(&seed) % jitter) % (SPAN - 50);
		unsigned int end = start + (unsigned int)rand_r(&seed) % 40;

		CHECK(busy_add(&b, start, end) == 0);
		memset(marked + start, 1, end - start);
	}
	for (size_t i = 0; i < SPAN; i++)
		expected += marked[i];
	total = total_of(&b, &uncertain);
	if (window)
		CHECK(total <= expected && expected - total <= uncertain);
	else
		CHECK(total == expected && uncertain == 0);
	busy_release(&b);
}

static void any_order_gives_the_exact_union(void)
{
	for (unsigned int seed = 1; seed < 40; seed++) {
		compare_with_twin(seed, 500, 37, 1, 0);
		compare_with_twin(seed, 500, 37, 300, 0);
		compare_with_twin(seed, 500, 1, SPAN, 0);
	}
	compare_with_twin(99, 100000, 1, SPAN, 0);
}

static void a_small_window_states_what_it_may_have_missed(void)
{
	for (unsigned int seed = 1; seed < 40; seed++) {
		compare_with_twin(seed, 500, 37, 200, 8);
		compare_with_twin(seed, 500, 37, SPAN, 8);
	}
}

static void disorder_inside_the_window_costs_nothing(void)
{
	struct busy b = {.window = 64};
	uint64_t uncertain = 1;

	for (uint64_t i = 0; i < 1000; i += 4)
		for (uint64_t k = 4; k-- > 0;)
			busy_add(&b, (i + k) * 10, (i + k) * 10 + 5);
	CHECK(total_of(&b, &uncertain) == 5000);
	CHECK(uncertain == 0);
	busy_release(&b);
}

static int by_value(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return a < b ? -1 : a > b;
}

static void percentiles_are_within_the_stated_error(void)
{
	static uint64_t values[10000];
	static struct histogram h;
	unsigned int seed = 5;

	for (size_t i = 0; i < 10000; i++) {
		values[i] = (uint64_t)rand_r(&seed) << (rand_r(&seed) % 30) >> (rand_r(&seed) % 30);
		histogram_add(&h, values[i]);
	}
	qsort(values, 10000, sizeof(values[0]), by_value);
	for (int percent = 1; percent < 100; percent++) {
		double exact = (double)values[percent * 100 - 1];
		double told = (double)histogram_percentile(&h, percent);

		CHECK(told >= exact * (1 - HISTOGRAM_ERROR_PERCENT / 100) - 1);
		CHECK(told <= exact * (1 + HISTOGRAM_ERROR_PERCENT / 100) + 1);
	}
	CHECK(h.min == values[0] && h.max == values[9999] && h.count == 10000);
	CHECK(histogram_percentile(&h, 100) <= h.max);
}

static void the_largest_values_have_a_bucket(void)
{
	static struct histogram h;

	CHECK(histogram_percentile(&h, 50) == 0);
	histogram_add(&h, UINT64_MAX);
	CHECK(histogram_percentile(&h, 50) == UINT64_MAX);
	histogram_add(&h, 0);
	CHECK(histogram_percentile(&h, 50) == 0);
}

static void a_value_added_many_times_is_as_if_one_by_one(void)
{
	static struct histogram at_once, one_by_one;

	for (uint64_t value = 3; value < 100000; value *= 3) {
		histogram_add_times(&at_once, value, value % 5);
		for (uint64_t i = 0; i < value % 5; i++)
			histogram_add(&one_by_one, value);
	}
	histogram_add_times(&at_once, 1000000, 0);
	CHECK(!memcmp(&at_once, &one_by_one, sizeof(at_once)));
}

int main(void)
{
	RUN(overlapping_and_touching_intervals_count_once);
	RUN(nothing_is_busy_for_no_time);
	RUN(any_order_gives_the_exact_union);
	RUN(a_small_window_states_what_it_may_have_missed);
	RUN(disorder_inside_the_window_costs_nothing);
	RUN(percentiles_are_within_the_stated_error);
	RUN(the_largest_values_have_a_bucket);
	RUN(a_value_added_many_times_is_as_if_one_by_one);
	return tap_end();
}
