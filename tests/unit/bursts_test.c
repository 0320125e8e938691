// SPDX-License-Identifier: MIT
/* Bursts: what their works stand for. */
#include <math.h>

#include "profile/bursts.h"
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

	bursts_weigh(&b);
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
	bursts_weigh(&b);
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
	bursts_weigh(&b);
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
	bursts_weigh(&b);
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
	bursts_weigh(&b);
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
	bursts_weigh(&b);
	CHECK(b.without == 1 && b.all.count == 1);
	CHECK(weight_at(&b, 1, 50) == 1);
	CHECK(weight_at(&b, 2, 50) == 10);
	bursts_release(&b);
}

static void a_burst_that_is_all_of_its_period_stands_for_itself(void)
{
	struct bursts b = {0};

	add(&b, 1, 10, 90, 10, 90);
	bursts_weigh(&b);
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
	bursts_weigh(&b);
	CHECK(b.all.count == 0 && b.without == 0);
	CHECK(weight_at(&b, 1, 150) == 1);
	bursts_release(&b);
}

static void the_largest_numbers_give_finite_weights(void)
{
	struct bursts b = {0};

	add(&b, 1, 0, UINT64_MAX, 5, 6);
	add(&b, 1, 0, UINT64_MAX, 7, 7);
	bursts_weigh(&b);
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
	bursts_weigh(&b);
	add(&copy, 9, 0, 100, 20, 30);
	CHECK(!bursts_copy(&copy, &b));
	bursts_release(&b);
	CHECK(copy.all.count == 1 && copy.without == 1 && weight_at(&copy, 1, 25) == 10);
	bursts_release(&copy);
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
	return tap_end();
}
