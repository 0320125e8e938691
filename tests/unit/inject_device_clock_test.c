// SPDX-License-Identifier: MIT
/* A device's clock, found by bounds (inject/device_clock.h), with clocks of every sort. */
#include "inject/device_clock.h"

#include <time.h>

#include "inject/library.h"
#include "tap.h"

#define SECOND 1000000000ull

static uint64_t clock_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * SECOND + (uint64_t)ts.tv_nsec;
}

static bool is_near(int64_t a, int64_t b, int64_t within)
{
	return a - b <= within && b - a <= within;
}

static void an_unknown_clock_has_no_offset(void)
{
	struct device_clock c = {0};
	uint64_t error_ns;
	int64_t offset_ns;

	CHECK(!clock_offset(&c, 100, &offset_ns, &error_ns));
}

static void each_call_narrows_the_bounds(void)
{
	struct device_clock c = {0};
	uint64_t error_ns, first_ns;
	int64_t offset_ns;

	/* a device that is 5,000 s ahead */
	CHECK(clock_bound(&c, 6000 * SECOND, 1000 * SECOND - 900, 1000 * SECOND + 100, 0));
	CHECK(clock_offset(&c, 1000 * SECOND, &offset_ns, &first_ns));
	CHECK(first_ns == 500);
	CHECK(clock_bound(&c, 6000 * SECOND + 5000, 1000 * SECOND + 4900, 1000 * SECOND + 5900, 0));
	CHECK(clock_offset(&c, 1000 * SECOND + 6000, &offset_ns, &error_ns));
	CHECK(error_ns == 100);
	CHECK(is_near(offset_ns, (int64_t)(5000 * SECOND), 100));
}

static void the_bounds_grow_until_the_next_call(void)
{
	struct device_clock c = {0};
	uint64_t error_ns, later_ns;
	int64_t offset_ns;

	clock_bound(&c, 6000 * SECOND, 1000 * SECOND - 50, 1000 * SECOND + 50, 0);
	CHECK(clock_offset(&c, 1000 * SECOND, &offset_ns, &error_ns));
	CHECK(clock_offset(&c, 1002 * SECOND, &offset_ns, &later_ns));
	CHECK(later_ns > error_ns && later_ns <= error_ns + 1000001);
	CHECK(clock_offset(&c, 998 * SECOND, &offset_ns, &later_ns)); /* and so it does backwards */
	CHECK(later_ns > error_ns);
}

static void what_contradicts_is_refused_and_begins_anew(void)
{
	struct device_clock c = {0};
	uint64_t error_ns;
	int64_t offset_ns;

	CHECK(clock_bound(&c, 6000 * SECOND, 1000 * SECOND - 50, 1000 * SECOND + 50, 0));
	/* somebody sets the clock back by a second */
	CHECK(!clock_bound(&c, 6000 * SECOND, 1001 * SECOND - 50, 1001 * SECOND + 50, 0));
	CHECK(clock_bound(&c, 6001 * SECOND, 1002 * SECOND - 50, 1002 * SECOND + 50, 0));
	CHECK(clock_offset(&c, 1002 * SECOND, &offset_ns, &error_ns));
	CHECK(is_near(offset_ns, (int64_t)(4999 * SECOND), 60));
}

/* Of a device whose clock is 100 millionths fast, and 5,000 s ahead. */
static uint64_t fast_clock(uint64_t ns)
{
	return ns + 5000 * SECOND + ns / 10000;
}

static bool bound_fast(struct device_clock *c, uint64_t ns)
{
	return clock_bound(c, fast_clock(ns), ns - 50, ns + 50, 1);
}

static void bounds_come_late_and_in_any_order(void)
{
	struct device_clock c = {0};
	bool agree = true;

	for (uint64_t ns = SECOND; ns < 4 * SECOND; ns += 900000)
		agree &= bound_fast(&c, ns) && bound_fast(&c, ns - SECOND / 2);
	CHECK(agree);
}

static void a_coarse_clock_has_wider_bounds(void)
{
	struct device_clock c = {0};
	uint64_t error_ns;
	int64_t offset_ns;

	CHECK(clock_bound(&c, 6000 * SECOND, 1000 * SECOND, 1000 * SECOND + 100, 1000));
	CHECK(clock_offset(&c, 1000 * SECOND, &offset_ns, &error_ns));
	CHECK(error_ns == 1050);
	CHECK(clock_bound(
		&c, 6000 * SECOND + 1000, 1000 * SECOND + 1900, 1000 * SECOND + 2000, 1000));
}

static void times_that_no_clock_has_are_refused(void)
{
	static const uint64_t wrong[] = {1ull << 63, (7ull << 60) + 1, UINT64_MAX};
	struct device_clock c = {0};
	uint64_t error_ns;
	int64_t offset_ns;

	for (int n = 0; n < 3; n++)
		CHECK(!clock_bound(&c, wrong[n], SECOND, SECOND + 100, 1000));
	CHECK(!clock_offset(&c, SECOND, &offset_ns, &error_ns));
	CHECK(clock_bound(&c, 5 * SECOND, SECOND, SECOND + 100, 0));
	for (int n = 0; n < 3; n++)
		CHECK(!clock_bound(&c, wrong[n], SECOND, SECOND + 100, 1000));
	CHECK(clock_offset(&c, SECOND + 100, &offset_ns, &error_ns)); /* as well as before */
	CHECK(is_near(offset_ns, (int64_t)(4 * SECOND), 100) && error_ns <= 100);
}

/* One that goes backwards, and one whose answers have nothing to do with each other. */
static void what_contradicts_again_and_again_is_refused(void)
{
	struct device_clock c = {0};
	uint64_t refused = 0;

	for (uint64_t n = 1; n <= 1000; n++)
		refused +=
			!clock_bound(&c, 5000 * SECOND - n * SECOND, n * 1000, n * 1000 + 100, 10);
	CHECK(refused == 999);
	for (uint64_t n = 1; n <= 1000; n++)
		refused +=
			!clock_bound(&c, n * 0x9e3779b97f4a7c15ull, n * 1000, n * 1000 + 100, 10);
	CHECK(refused == 1999);
}

static void finds(clockid_t id)
{
	struct device_clock c = {0};
	uint64_t error_ns, before_ns = now_ns(), theirs_ns = clock_ns(id), after_ns = now_ns();
	int64_t offset_ns, exact_ns = (int64_t)(theirs_ns - (before_ns + after_ns) / 2);

	/* a call that took 100 us around it */
	clock_bound(&c, theirs_ns, before_ns - 90000, after_ns + 10000, 0);
	clock_measure_systems();
	CHECK(clock_offset(&c, after_ns, &offset_ns, &error_ns));
	CHECK(is_near(offset_ns, exact_ns, 20000));
	CHECK(error_ns >= 50000);
}

static void the_clocks_of_the_system_are_recognized(void)
{
	finds(CLOCK_MONOTONIC);
	finds(CLOCK_MONOTONIC_RAW);
	finds(CLOCK_REALTIME);
	finds(CLOCK_BOOTTIME);
}

static void a_counter_of_its_own_gets_the_middle(void)
{
	struct device_clock c = {0};
	uint64_t error_ns;
	int64_t offset_ns;

	clock_measure_systems();
	clock_bound(&c, 77 * SECOND, 5000 * SECOND, 5000 * SECOND + 1000, 0);
	CHECK(clock_offset(&c, 5000 * SECOND, &offset_ns, &error_ns));
	CHECK(offset_ns == -(int64_t)(4923 * SECOND) - 500);
	CHECK(error_ns == 500);
}

int main(void)
{
	RUN(an_unknown_clock_has_no_offset);
	RUN(each_call_narrows_the_bounds);
	RUN(the_bounds_grow_until_the_next_call);
	RUN(what_contradicts_is_refused_and_begins_anew);
	RUN(bounds_come_late_and_in_any_order);
	RUN(a_coarse_clock_has_wider_bounds);
	RUN(times_that_no_clock_has_are_refused);
	RUN(what_contradicts_again_and_again_is_refused);
	RUN(the_clocks_of_the_system_are_recognized);
	RUN(a_counter_of_its_own_gets_the_middle);
	return tap_end();
}
