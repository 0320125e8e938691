// SPDX-License-Identifier: MIT
/* Bursts: what their works stand for, and how far sums over them may be off. */
#include <math.h>
#include <stdlib.h>

#include "base/root.h"
#include "profile/bursts.h"
#include "profile/spread.h"
#include "random.h"
#include "tap.h"

/* Of an instance: the period, and the burst in it. */
static void add(struct bursts *b, uint32_t instance, uint64_t since_ns, uint64_t until_ns,
	uint64_t start_ns, uint64_t end_ns)
{
	const struct profile_burst burst = {.instance = instance,
		.since_ns = since_ns,
		.until_ns = until_ns,
		.start_ns = start_ns,
		.end_ns = end_ns};

	CHECK(!bursts_add(b, &burst));
}

static double weight_at(const struct bursts *b, uint32_t instance, uint64_t time_ns)
{
	return bursts_weight(b, bursts_find(b, instance, time_ns));
}

static bool is_near(double a, double b)
{
	return fabs(a - b) <= 1e-9 * fabs(b);
}

/* ------------------------------------------------------------------ weights */

static void without_bursts_everything_stands_for_itself(void)
{
	struct bursts b = {0};

	CHECK(!bursts_weigh(&b));
	CHECK(bursts_find(&b, 1, 5) == 0);
	CHECK(weight_at(&b, 1, 5) == 1);
	CHECK(bursts_weight(&b, 7) == 1);
	CHECK(bursts_extent(&b).count == 0);
	CHECK(b.without == 0);
	bursts_release(&b);
}

static void a_burst_stands_for_its_period(void)
{
	struct bursts b = {0};
	struct bursts_extent extent;

	add(&b, 1, 1000, 2000, 1900, 1920);
	add(&b, 1, 0, 1000, 300, 350);
	CHECK(!bursts_weigh(&b));
	CHECK(b.all.count == 2 && b.all.items[0].is.start_ns == 300);
	CHECK(weight_at(&b, 1, 300) == 20);
	CHECK(weight_at(&b, 1, 1899) == 20);
	CHECK(weight_at(&b, 1, 1900) == 50);
	CHECK(weight_at(&b, 1, UINT64_MAX) == 50);
	extent = bursts_extent(&b);
	CHECK(extent.count == 2 && extent.recorded_ns == 70 && is_near(extent.of_ns, 2000));
	bursts_release(&b);
}

static void what_came_before_the_first_burst_is_of_it(void)
{
	struct bursts b = {0};

	add(&b, 1, 100, 200, 150, 160);
	add(&b, 2, 100, 300, 110, 210);
	CHECK(!bursts_weigh(&b));
	CHECK(bursts_find(&b, 1, 0) == 1);
	CHECK(bursts_find(&b, 2, 0) == 2);
	CHECK(bursts_find(&b, 0, 150) == 0);
	CHECK(bursts_find(&b, 3, 150) == 0);
	bursts_release(&b);
}

static void periods_without_a_burst_are_shared_among_the_others(void)
{
	struct bursts b = {0};
	struct bursts_extent extent;

	add(&b, 1, 0, 100, 20, 30);
	add(&b, 1, 100, 200, 100, 150);
	add(&b, 1, 200, 300, 200, 200);
	CHECK(!bursts_weigh(&b));
	CHECK(b.all.count == 2);
	CHECK(is_near(weight_at(&b, 1, 20), 15));
	CHECK(is_near(weight_at(&b, 1, 250), 3));
	extent = bursts_extent(&b);
	CHECK(extent.recorded_ns == 60 && is_near(extent.of_ns, 300));
	bursts_release(&b);
}

static void instances_do_not_share_their_periods(void)
{
	struct bursts b = {0};

	add(&b, 7, 0, 100, 0, 10);
	add(&b, 7, 100, 200, 150, 150);
	add(&b, 4, 0, 1000, 500, 600);
	CHECK(!bursts_weigh(&b));
	CHECK(weight_at(&b, 7, 5) == 20);
	CHECK(weight_at(&b, 4, 5) == 10);
	CHECK(bursts_find(&b, 4, 550) != bursts_find(&b, 7, 550));
	bursts_release(&b);
}

static void an_instance_without_any_burst_is_counted_and_not_made_up(void)
{
	struct bursts b = {0};

	add(&b, 1, 0, 100, 50, 50);
	add(&b, 1, 100, 200, 150, 150);
	add(&b, 2, 0, 100, 50, 60);
	CHECK(!bursts_weigh(&b));
	CHECK(b.without == 1 && b.all.count == 1);
	CHECK(weight_at(&b, 1, 50) == 1);
	CHECK(weight_at(&b, 2, 50) == 10);
	bursts_release(&b);
}

static void a_burst_that_is_all_of_its_period_stands_for_itself(void)
{
	struct bursts b = {0};

	add(&b, 1, 10, 90, 10, 90);
	CHECK(!bursts_weigh(&b));
	CHECK(weight_at(&b, 1, 50) == 1);
	CHECK(bursts_find(&b, 1, 50) == 1);
	bursts_release(&b);
}

static void bursts_that_make_no_sense_are_left_out(void)
{
	struct bursts b = {0};

	add(&b, 1, 100, 50, 60, 70);  /* ends before it begins */
	add(&b, 1, 100, 200, 90, 95); /* before its period */
	add(&b, 1, 100, 200, 180, 170);
	add(&b, 1, 100, 200, 180, 201);
	CHECK(!bursts_weigh(&b));
	CHECK(b.all.count == 0 && b.without == 0);
	CHECK(weight_at(&b, 1, 150) == 1);
	bursts_release(&b);
}

static void the_largest_numbers_give_finite_weights(void)
{
	struct bursts b = {0};

	add(&b, 1, 0, UINT64_MAX, 5, 6);
	add(&b, 1, 0, UINT64_MAX, 7, 7);
	CHECK(!bursts_weigh(&b));
	CHECK(isfinite(weight_at(&b, 1, 5)) && weight_at(&b, 1, 5) > 1e19);
	CHECK(profile_weighed(1000, weight_at(&b, 1, 5)) == UINT64_MAX);
	CHECK(profile_weighed(UINT64_MAX, 1) == UINT64_MAX);
	CHECK(profile_weighed(3, 1.5) == 5);
	bursts_release(&b);
}

static void a_copy_is_the_same_and_lives_longer(void)
{
	struct bursts b = {0}, copy = {0};

	add(&b, 1, 0, 100, 20, 30);
	add(&b, 2, 0, 100, 20, 20);
	CHECK(!bursts_weigh(&b));
	add(&copy, 9, 0, 100, 20, 30);
	CHECK(!bursts_copy(&copy, &b));
	bursts_release(&b);
	CHECK(copy.all.count == 1 && copy.without == 1 && weight_at(&copy, 1, 25) == 10);
	bursts_release(&copy);
}

/* ------------------------------------------------------------------ errors */

/* So many of one instance, each as long as this part of its period. */
static void add_many(struct bursts *b, uint32_t instance, uint32_t count, double recorded)
{
	const uint64_t period_ns = 1000000000, length_ns = (uint64_t)(1e9 * recorded + 0.5);

	for (uint64_t i = 0; i < count; i++)
		add(b, instance, i * period_ns, (i + 1) * period_ns, i * period_ns,
			i * period_ns + (length_ns ? length_ns : 1));
}

static struct bursts bursts_of(uint32_t count, double recorded)
{
	struct bursts b = {0};

	add_many(&b, 1, count, recorded);
	CHECK(!bursts_weigh(&b));
	return b;
}

/* By halves, unlike that of base/root.h. */
static double square_root(double x)
{
	double low = 0, high = x > 1 ? x : 1;

	for (int i = 0; i < 400; i++) {
		double middle = low + (high - low) / 2;

		*(middle * middle > x ? &high : &low) = middle;
	}
	return low;
}

/* From the definition of a variance, with all values at hand. */
static double expected_error(const double *values, size_t n, double recorded)
{
	double mean = 0, squares = 0;

	for (size_t i = 0; i < n; i++)
		mean += values[i] / (double)n;
	for (size_t i = 0; i < n; i++)
		squares += (values[i] - mean) * (values[i] - mean);
	return 2 * square_root(squares / (double)(n - 1) * (double)n * (1 - recorded));
}

static bool is_range(struct spread_range range, double sum, double error)
{
	return fabs((double)range.low - (sum - error)) < 1 &&
	       fabs((double)range.high - (sum + error)) < 1;
}

/* The bursts of a recording, and one sum over them. */
struct case_of {
	struct bursts b;
	struct spread s;
};

static struct case_of begin(uint32_t count, double recorded)
{
	return (struct case_of){.b = bursts_of(count, recorded)};
}

static void put(struct case_of *c, uint32_t burst, double value)
{
	CHECK(!spread_add(&c->s, &c->b, burst, value));
}

static struct spread_range end(struct case_of *c, uint64_t seen)
{
	struct spread_range range = spread_range(&c->s, &c->b, NULL, seen);

	spread_release(&c->s);
	bursts_release(&c->b);
	return range;
}

static void an_error_is_that_of_a_sum_of_equally_likely_values(void)
{
	static const double values[] = {900, 1100, 1000, 1400, 600};
	struct case_of c = begin(5, 0.1);
	struct spread_range range;

	for (uint32_t i = 0; i < 5; i++)
		put(&c, i + 1, values[i]);
	CHECK(c.s.sum == 5000);
	range = end(&c, 1);
	/* squares of the differences: 10000 + 10000 + 160000 + 160000; * 5 / 4 * 0.9; twice */
	CHECK(is_range(range, 5000, 2 * square_root(382500)));
	CHECK(is_range(range, 5000, expected_error(values, 5, 0.1)));
}

static void bursts_in_which_nothing_came_count_as_nothing(void)
{
	static const double values[] = {500, 0, 0, 700, 0, 0, 0};
	struct case_of c = begin(7, 0);
	struct spread_range range;

	put(&c, 1, 500);
	put(&c, 4, 700);
	range = end(&c, 0);
	CHECK(range.low == 0);
	CHECK(fabs((double)range.high - 1200 - expected_error(values, 7, 0)) < 1);
}

static void roots_of_any_size_are_right(void)
{
	CHECK(root(0) == 0 && root(-1) == 0);
	for (double x = 1e-30; x < 1e60; x *= 7)
		CHECK(fabs(root(x) - square_root(x)) <= 1e-15 * square_root(x));
}

static void a_range_never_ends_below_what_was_seen(void)
{
	struct case_of c = begin(10, 0);
	struct spread_range range;

	put(&c, 3, 5000);
	range = end(&c, 100);
	CHECK(range.low == 100 && range.high == 15000);
}

static void equal_bursts_have_no_error(void)
{
	struct case_of c = begin(100, 0.02);

	for (uint32_t i = 1; i <= 100; i++)
		put(&c, i, 1e9);
	CHECK(is_range(end(&c, 1), 1e11, 0));
}

static void what_was_recorded_whole_has_no_error(void)
{
	struct case_of all = begin(3, 1), of_others = begin(3, 0.1);

	put(&all, 1, 10);
	put(&all, 2, 1000);
	CHECK(is_range(end(&all, 1010), 1010, 0));
	put(&of_others, 0, 10);
	put(&of_others, 0, 1000);
	CHECK(is_range(end(&of_others, 1010), 1010, 0));
}

static void of_a_single_burst_no_error_is_known(void)
{
	struct case_of one = begin(1, 0.1), none = begin(0, 0), empty = begin(0, 0);
	struct spread_range range;

	put(&one, 1, 1000);
	range = end(&one, 100);
	CHECK(range.low == 100 && range.high == SPREAD_NOT_KNOWN);
	put(&none, 0, 1000);
	CHECK(end(&none, 100).high == SPREAD_NOT_KNOWN);
	range = end(&empty, 0);
	CHECK(range.low == 0 && range.high == 0);
}

/* What one instance does, however different, is no error of another one's. */
static void bursts_are_compared_with_those_of_their_instance(void)
{
	static const double first[] = {10, 30}, second[] = {7000, 8000, 9000};
	struct case_of c = {0};
	double a = expected_error(first, 2, 0.1), b = expected_error(second, 3, 0.5);

	add_many(&c.b, 4, 2, 0.1);
	add_many(&c.b, 9, 3, 0.5);
	CHECK(!bursts_weigh(&c.b) && c.b.strata.count == 3);
	put(&c, 3, second[0]);
	put(&c, 1, first[0]);
	put(&c, 4, second[1]);
	put(&c, 2, first[1]);
	put(&c, 5, second[2]);
	CHECK(is_range(end(&c, 1), 24040, square_root(a * a + b * b)));
}

/* Long periods have more than short ones. */
static void a_program_that_always_does_the_same_has_no_error(void)
{
	struct case_of c = {0};

	add(&c.b, 1, 0, 1000, 100, 200);
	add(&c.b, 1, 1000, 9000, 5000, 5100);
	add(&c.b, 1, 9000, 10000, 9100, 9500);
	CHECK(!bursts_weigh(&c.b));
	/* what these stand for, at 3 a nanosecond */
	put(&c, 1, 3000);
	put(&c, 2, 24000);
	put(&c, 3, 3000);
	CHECK(is_range(end(&c, 1), 30000, 0));
}

/* Differences from 3 a nanosecond: 300, -900, 600; * 3 / 2 * 0.94; twice. */
static void an_error_is_of_what_differs_from_an_even_rate(void)
{
	struct case_of c = {0};

	add(&c.b, 1, 0, 1000, 100, 200);
	add(&c.b, 1, 1000, 9000, 5000, 5100);
	add(&c.b, 1, 9000, 10000, 9100, 9500);
	CHECK(!bursts_weigh(&c.b));
	put(&c, 1, 3300);
	put(&c, 2, 23100);
	put(&c, 3, 3600);
	CHECK(is_range(end(&c, 1), 30000, 2 * square_root(1776600)));
}

/* Many short processes. */
static void instances_of_one_burst_are_compared_with_each_other(void)
{
	static const double values[] = {100, 300, 200, 600};
	struct case_of c = {0};

	for (uint32_t i = 0; i < 4; i++)
		add_many(&c.b, i + 1, 1, 0.25);
	add_many(&c.b, 9, 50, 0.01);
	CHECK(!bursts_weigh(&c.b) && c.b.strata.count == 2);
	for (uint32_t i = 0; i < 4; i++)
		put(&c, i + 1, values[i]);
	CHECK(is_range(end(&c, 1), 1200, expected_error(values, 4, 0.25)));
}

/* As many as are remembered at once, of two instances. */
static void pieces_of_many_bursts_may_be_mixed(void)
{
	enum { ROUNDS = 20, PIECES = 500, BURSTS = ROUNDS * SPREAD_RECENT };
	static double values[2 * BURSTS];
	struct case_of c = {0};
	double sum = 0, a, b;

	add_many(&c.b, 1, BURSTS, 0.02);
	add_many(&c.b, 2, BURSTS, 0.02);
	CHECK(!bursts_weigh(&c.b));
	for (uint32_t round = 0; round < ROUNDS; round++)
		for (int piece = 0; piece < PIECES; piece++) {
			uint32_t burst = round * SPREAD_RECENT + random_below(SPREAD_RECENT) +
					 random_below(2) * BURSTS;
			double value = random_below(1000000);

			put(&c, burst + 1, value);
			values[burst] += value;
			sum += value;
		}
	CHECK(is_near(c.s.sum, sum));
	a = expected_error(values, BURSTS, 0.02);
	b = expected_error(values + BURSTS, BURSTS, 0.02);
	CHECK(is_range(end(&c, 1), sum, square_root(a * a + b * b)));
}

/* Here every burst is forgotten once, and comes back. */
static void of_too_many_bursts_at_once_the_sum_is_right_and_the_error_too_small(void)
{
	enum { BURSTS = 16 * SPREAD_RECENT };
	static double values[BURSTS];
	struct case_of c = begin(BURSTS, 0);
	double sum = 0, error, shown;

	for (int round = 0; round < 2; round++)
		for (uint32_t i = 0; i < BURSTS; i++) {
			double value = i % 8 ? 0 : 1000;

			put(&c, i + 1, value);
			values[i] += value;
			sum += value;
		}
	CHECK(c.s.sum == sum);
	error = expected_error(values, BURSTS, 0);
	shown = (double)end(&c, 1).high - sum;
	CHECK(shown < error && shown > error / square_root(2) * 0.9);
}

/* How often the true sum lies in the range: in about 95 of 100 cases. */
static void most_ranges_hold_the_true_sum(void)
{
	enum { TRIALS = 1000, PERIODS = 100, SLOTS = 50 };
	int held = 0;

	for (int trial = 0; trial < TRIALS; trial++) {
		struct case_of c = begin(PERIODS, 1.0 / SLOTS);
		struct spread_range range;
		double all = 0;

		for (uint32_t period = 0; period < PERIODS; period++) {
			uint32_t slot = random_below(SLOTS);

			for (uint32_t i = 0; i < SLOTS; i++) {
				double value = 1000 + random_below(2000);

				all += value;
				if (i == slot)
					put(&c, period + 1, value * SLOTS);
			}
		}
		range = end(&c, 1);
		held += (double)range.low <= all && all <= (double)range.high;
	}
	printf("# the true sum is in %d of %d ranges\n", held, TRIALS);
	CHECK(held >= 930 && held <= 980);
}

/* --- draws */

static struct spread_range end_draws(struct spread *s, uint64_t seen)
{
	struct bursts none = {.drawn = true};
	struct spread_range range = spread_range(s, &none, NULL, seen);

	spread_release(s);
	return range;
}

/* Of the last block, which may have been cut anywhere; of a sum of `rate` for each work. */
static double of_last(double rate, double longest)
{
	return rate * longest * rate * longest / 6;
}

static void equal_draws_are_off_by_the_last_block_at_most(void)
{
	struct spread s = {0}, counts = {0};

	for (int n = 0; n < 100; n++) {
		CHECK(!spread_add_draw(&s, 7, 16, 16 * 2000.0));
		CHECK(!spread_add_draw(&counts, 7, n % 2 ? 16 : 8, n % 2 ? 16 : 8));
	}
	CHECK(is_range(end_draws(&s, 200000), 3200000, 2 * square_root(of_last(2000, 16))));
	CHECK(is_range(end_draws(&counts, 100), 1200, 2 * square_root(of_last(1, 16))));
}

static void draws_are_compared_with_those_of_their_sort(void)
{
	struct spread s = {0};
	double last = of_last(100, 10) + of_last(9000, 10);

	for (int n = 0; n < 10; n++) {
		CHECK(!spread_add_draw(&s, 1, 10, 1000));
		CHECK(!spread_add_draw(&s, 2, 10, 90000));
	}
	CHECK(is_range(end_draws(&s, 1), 910000, 2 * square_root(last)));
}

/* squares of the differences: 4 of 5000; * 4 / 3 * 9 / 10; twice */
static void the_error_of_draws_is_that_of_a_sum_of_likely_values(void)
{
	struct spread s = {0};
	double variance = 4 * 5000.0 * 5000 * 4 / 3 * 0.9 + of_last(1000, 10);

	for (int n = 0; n < 4; n++)
		CHECK(!spread_add_draw(&s, 1, 10, n % 2 ? 15000 : 5000));
	CHECK(is_range(end_draws(&s, 1), 40000, 2 * square_root(variance)));
}

/* Two of the four draws: 10000, 10000, 0, 0. */
static void how_many_draws_a_part_has_is_chance(void)
{
	struct spread part = {0}, whole = {0};
	struct spread_range range;
	struct bursts none = {.drawn = true};
	double variance = 4 * 5000.0 * 5000 * 4 / 3 * 0.9 + of_last(500, 10);

	for (int n = 0; n < 4; n++) {
		CHECK(!spread_add_draw(&whole, 1, 10, 10000));
		CHECK(n % 2 || !spread_add_draw(&part, 1, 10, 10000));
	}
	range = spread_range(&part, &none, &whole, 1);
	CHECK(range.low == 1 && fabs((double)range.high - 20000 - 2 * square_root(variance)) < 1);
	spread_release(&part);
	spread_release(&whole);
}

static void sorts_that_were_drawn_once_count_together(void)
{
	struct spread one = {0}, two = {0};

	CHECK(!spread_add_draw(&one, 1, 10, 1000));
	CHECK(end_draws(&one, 100).high == SPREAD_NOT_KNOWN);
	CHECK(!spread_add_draw(&two, 1, 10, 1000) && !spread_add_draw(&two, 2, 10, 1000));
	CHECK(is_range(end_draws(&two, 200), 2000, 2 * square_root(of_last(100, 10))));
}

/* The true sum is within the range in 95 of 100 cases: here in 88 at least, of blocks of 16. */
static void ranges_of_draws_have_the_true_sum(void)
{
	enum { TRIES = 400, BLOCKS = 60, PART = 16 };
	int within = 0;

	for (int t = 0; t < TRIES; t++) {
		struct spread s = {0};
		double sum = 0;

		for (int b = 0; b < BLOCKS; b++) {
			double values[PART];

			for (int n = 0; n < PART; n++) {
				values[n] = 1000 + (double)random_below(500) +
					    (random_below(10) ? 0 : 3000);
				sum += values[n];
			}
			CHECK(!spread_add_draw(&s, 1, PART, PART * values[random_below(PART)]));
		}
		struct spread_range range = end_draws(&s, 1);

		within += (double)range.low <= sum && sum <= (double)range.high;
	}
	CHECK(within > TRIES * 88 / 100 && within < TRIES);
}

int main(void)
{
	RUN(without_bursts_everything_stands_for_itself);
	RUN(a_burst_stands_for_its_period);
	RUN(what_came_before_the_first_burst_is_of_it);
	RUN(periods_without_a_burst_are_shared_among_the_others);
	RUN(instances_do_not_share_their_periods);
	RUN(an_instance_without_any_burst_is_counted_and_not_made_up);
	RUN(a_burst_that_is_all_of_its_period_stands_for_itself);
	RUN(bursts_that_make_no_sense_are_left_out);
	RUN(the_largest_numbers_give_finite_weights);
	RUN(a_copy_is_the_same_and_lives_longer);
	RUN(an_error_is_that_of_a_sum_of_equally_likely_values);
	RUN(bursts_in_which_nothing_came_count_as_nothing);
	RUN(roots_of_any_size_are_right);
	RUN(a_range_never_ends_below_what_was_seen);
	RUN(equal_bursts_have_no_error);
	RUN(what_was_recorded_whole_has_no_error);
	RUN(of_a_single_burst_no_error_is_known);
	RUN(bursts_are_compared_with_those_of_their_instance);
	RUN(a_program_that_always_does_the_same_has_no_error);
	RUN(an_error_is_of_what_differs_from_an_even_rate);
	RUN(instances_of_one_burst_are_compared_with_each_other);
	RUN(pieces_of_many_bursts_may_be_mixed);
	RUN(of_too_many_bursts_at_once_the_sum_is_right_and_the_error_too_small);
	RUN(most_ranges_hold_the_true_sum);
	RUN(equal_draws_are_off_by_the_last_block_at_most);
	RUN(draws_are_compared_with_those_of_their_sort);
	RUN(the_error_of_draws_is_that_of_a_sum_of_likely_values);
	RUN(how_many_draws_a_part_has_is_chance);
	RUN(sorts_that_were_drawn_once_count_together);
	RUN(ranges_of_draws_have_the_true_sum);
	return tap_end();
}
