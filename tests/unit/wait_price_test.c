// SPDX-License-Identifier: MIT
/* Which waits have their stacks taken (bpf/waits.h): by what walks cost, on a clock of the test's own. */
#include <stdbool.h>
#include <stdint.h>

#include "tap.h"

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

static uint32_t bpf_get_prandom_u32(void)
{
	return 12345;
}

#include "bpf/waits.h"

#define SECOND_NS 1000000000ull
#define WALK_NS	  40000
#define THREADS	  16

/* Waits for so long, one each interval, at `sites` in turn; returns how many were walked. `fresh`: every one is at a
 * site that is not known. */
static uint64_t wait_for(struct wait_price *p, uint64_t *now_ns, uint64_t duration_ns, uint64_t interval_ns, bool fresh)
{
	static struct wait_site sites[THREADS];
	uint64_t walked = 0, end_ns = *now_ns + duration_ns;

	for (int i = 0; i < THREADS; i++)
		site_begin(&sites[i], 1, *now_ns);
	for (int i = 0; *now_ns < end_ns; i = (i + 1) % THREADS, *now_ns += interval_ns) {
		struct wait_site *s = &sites[i];

		if (fresh)
			site_begin(s, 1, *now_ns);
		else
			site_visit(s, *now_ns);
		if (!price_is_paid(p, s, *now_ns))
			continue;
		s->due = 0;
		walked++;
		price_pay(p, *now_ns, WALK_NS);
	}
	return walked;
}

static void all_waits_of_a_quiet_program_are_walked(void)
{
	struct wait_price p = {0};
	uint64_t now_ns = SECOND_NS;

	CHECK(wait_for(&p, &now_ns, 10 * SECOND_NS, SECOND_NS / 50, false) == 500);
	CHECK(wait_for(&p, &now_ns, SECOND_NS / 10, SECOND_NS / 1000, false) == 100);
}

static void in_a_storm_walks_take_their_share_of_the_time(void)
{
	struct wait_price p = {0};
	uint64_t now_ns = SECOND_NS, share = SECOND_NS / WALKS_SHARE / WALK_NS, walked;

	wait_for(&p, &now_ns, 2 * SECOND_NS, 2000, false);
	walked = wait_for(&p, &now_ns, 10 * SECOND_NS, 2000, false);
	CHECK(walked > 8 * share && walked < 12 * share);
}

static void what_is_not_known_yet_is_walked_no_more_than_that(void)
{
	struct wait_price p = {0};
	uint64_t now_ns = SECOND_NS, share = SECOND_NS / WALKS_SHARE / WALK_NS, walked;

	wait_for(&p, &now_ns, 5 * SECOND_NS, 2000, true);
	walked = wait_for(&p, &now_ns, 10 * SECOND_NS, 2000, true);
	CHECK(walked > 8 * share && walked < 12 * share);
}

static void a_rare_site_is_walked_in_a_storm_and_all_are_when_it_is_over(void)
{
	struct wait_price p = {0};
	struct wait_site rare = {.mean_ns = 2 * SECOND_NS};
	uint64_t now_ns = SECOND_NS;

	wait_for(&p, &now_ns, 10 * SECOND_NS, 2000, false);
	CHECK(price_at(price_ahead(&p, now_ns)) > 0 && price_is_paid(&p, &rare, now_ns));
	now_ns += 3 * SECOND_NS;
	CHECK(wait_for(&p, &now_ns, SECOND_NS / 10, SECOND_NS / 1000, false) == 100);
}

static void long_waits_are_told_but_not_too_many(void)
{
	struct wait_price p = {0};
	uint64_t now_ns = SECOND_NS, told = 0;

	CHECK(!price_tells(&p, TOLD_NS - 1, now_ns) && price_tells(&p, TOLD_NS, now_ns));
	for (int n = 0; n < 200000; n++, now_ns += 5000)
		told += price_tells(&p, SECOND_NS, now_ns);
	CHECK(told > SECOND_NS / TOLD_PRICE_NS && told < 12 * (SECOND_NS / TOLD_PRICE_NS) / 10);
	now_ns += SECOND_NS;
	for (int n = 0; n < 1000; n++, now_ns += 100000)
		CHECK(price_tells(&p, TOLD_NS, now_ns));
}

int main(void)
{
	RUN(all_waits_of_a_quiet_program_are_walked);
	RUN(in_a_storm_walks_take_their_share_of_the_time);
	RUN(what_is_not_known_yet_is_walked_no_more_than_that);
	RUN(a_rare_site_is_walked_in_a_storm_and_all_are_when_it_is_over);
	RUN(long_waits_are_told_but_not_too_many);
	return tap_end();
}
