// SPDX-License-Identifier: MIT
/* Which waits have their stacks walked (bpf/waits.h): by what walks cost, on a clock of the test's
 * own. */
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

/* Waits for so long, one each interval, at `sites` in turn; returns how many were walked. `fresh`:
 * every one is at a site that is not known. */
static uint64_t wait_for(struct wait_price *p, uint64_t *now_ns, uint64_t duration_ns,
	uint64_t interval_ns, bool fresh)
{
	static struct wait_site sites[THREADS];
	uint64_t walked = 0, end_ns = *now_ns + duration_ns;

	for (int i = 0; i < THREADS; i++) {
		sites[i].key = 0;
		site_begin(&sites[i], 1, *now_ns);
	}
	for (int i = 0; *now_ns < end_ns; i = (i + 1) % THREADS, *now_ns += interval_ns) {
		struct wait_site *s = &sites[i];

		if (fresh) {
			s->key = 0;
			site_begin(s, 1, *now_ns);
		} else {
			site_visit(s, *now_ns);
		}
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

/* ------------------------------------------------------------------ the sites of a thread */

struct thread {
	struct wait_site sites[WAIT_SITES];
};

static struct wait_site *visit(struct thread *t, uint64_t key, uint64_t now_ns)
{
	struct wait_site *s = &t->sites[site_index(key)], *other = &t->sites[site_other_index(key)];

	s = site_is_other(s, other, key) ? other : s;
	if (s->key == key)
		site_visit(s, now_ns);
	else
		site_begin(s, key, now_ns);
	return s;
}

/* It waits at `count` sites in turn, with so much between any two waits, from a seed; how often
 * each was walked is added to `walked`. */
static void wait_at_sites(struct wait_price *p, struct thread *t, uint64_t now_ns,
	uint64_t duration_ns, uint64_t seed, uint64_t count, uint64_t *walked)
{
	for (uint64_t n = 0; n * 4000 < duration_ns; n++, now_ns += 4000) {
		struct wait_site *s =
			visit(t, site_key(seed * 1000 + n % count, seed << 8, 0, 4), now_ns);

		if (!price_is_paid(p, s, now_ns))
			continue;
		s->due = 0;
		walked[n % count]++;
		price_pay(p, now_ns, WALK_NS);
	}
}

static uint64_t least_of(const uint64_t *numbers, uint64_t count)
{
	uint64_t least = numbers[0];

	for (uint64_t i = 1; i < count; i++)
		least = numbers[i] < least ? numbers[i] : least;
	return least;
}

/* After the burst, wherever their hashes put them. */
static void each_of_a_few_sites_is_walked_in_a_storm(void)
{
	uint64_t fewest = UINT64_MAX, share = SECOND_NS / WALKS_SHARE / WALK_NS;

	for (uint64_t seed = 1; seed <= 50; seed++) {
		struct wait_price p = {.random = seed};
		uint64_t walked[4] = {0}, burst[4] = {0}, least;
		struct thread t = {0};

		wait_at_sites(&p, &t, SECOND_NS, SECOND_NS, seed, 4, burst);
		wait_at_sites(&p, &t, 2 * SECOND_NS, SECOND_NS, seed, 4, walked);
		least = least_of(walked, 4);
		fewest = least < fewest ? least : fewest;
	}
	CHECK(fewest > share / 20);
}

/* More sites than a thread has slots for: they share the walks, with those of other threads on the
 * CPU. */
static void many_sites_do_not_take_the_walks_of_others(void)
{
	uint64_t share = SECOND_NS / WALKS_SHARE / WALK_NS, walked[32] = {0}, others = 0;
	struct wait_price p = {0};
	struct thread t = {0};
	struct wait_site other = {.key = 1, .seen_ns = SECOND_NS};

	for (uint64_t now_ns = SECOND_NS; now_ns < 11 * SECOND_NS; now_ns += 128000) {
		wait_at_sites(&p, &t, now_ns, 128000, 1, 32, walked);
		site_visit(&other, now_ns);
		if (!price_is_paid(&p, &other, now_ns))
			continue;
		others++;
		price_pay(&p, now_ns, WALK_NS);
	}
	CHECK(least_of(walked, 32) > 0);
	/* All 33 come as often. */
	CHECK(others > 10 * share / 33 / 2 && others < 5 * share);
}

static void a_place_is_that_of_the_site_that_was_seen_last(void)
{
	struct wait_site free = {0}, old = {.key = 3, .seen_ns = 10},
			 late = {.key = 5, .seen_ns = 20}, due = old;
	struct wait_site new = late;

	due.due = 1;
	CHECK(site_is_other(&old, &late, 5) && !site_is_other(&late, &old, 5));
	CHECK(site_is_other(&old, &free, 7) && !site_is_other(&free, &old, 7));
	CHECK(site_is_other(&late, &old, 7) && !site_is_other(&old, &late, 7));
	CHECK(!site_is_other(&late, &due, 7) && site_is_other(&due, &late, 7));
	site_begin(&new, 7, 120);
	CHECK(new.key == 7 && site_interval(&new) >= 100 && site_interval(&new) <= 101);
	site_begin(&free, 7, 120);
	CHECK(site_interval(&free) == NEW_NS);
}

static void long_waits_are_told_but_not_too_many(void)
{
	struct wait_price p = {0};
	uint64_t now_ns = SECOND_NS, told = 0;

	CHECK(!price_sends(&p, SEND_NS - 1, now_ns) && price_sends(&p, SEND_NS, now_ns));
	for (int n = 0; n < 200000; n++, now_ns += 5000)
		told += price_sends(&p, SECOND_NS, now_ns);
	CHECK(told > SECOND_NS / SEND_PRICE_NS && told < 12 * (SECOND_NS / SEND_PRICE_NS) / 10);
	now_ns += SECOND_NS;
	for (int n = 0; n < 1000; n++, now_ns += 100000)
		CHECK(price_sends(&p, SEND_NS, now_ns));
}

int main(void)
{
	RUN(all_waits_of_a_quiet_program_are_walked);
	RUN(in_a_storm_walks_take_their_share_of_the_time);
	RUN(what_is_not_known_yet_is_walked_no_more_than_that);
	RUN(a_rare_site_is_walked_in_a_storm_and_all_are_when_it_is_over);
	RUN(each_of_a_few_sites_is_walked_in_a_storm);
	RUN(many_sites_do_not_take_the_walks_of_others);
	RUN(a_place_is_that_of_the_site_that_was_seen_last);
	RUN(long_waits_are_told_but_not_too_many);
	return tap_end();
}
