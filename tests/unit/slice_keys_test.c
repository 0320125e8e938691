// SPDX-License-Identifier: MIT
/* Sums by slice of recordings in which nearly every event has a stack of its own. */
#include "tap.h"
#include "view/fold/slice_sums.h"

#define START_NS  1000000ull
#define LENGTH_NS 4000000ull
#define THREADS	  5
#define EVENTS	  20000

static uint64_t time_of[THREADS];

/* Of `stacks` stacks and `threads` threads; the second half goes over the same time once more. */
static void add_samples(struct slice_sums *s, uint32_t stacks, uint32_t threads)
{
	memset(time_of, 0, sizeof(time_of));
	for (uint32_t n = 0; n < EVENTS; n++) {
		struct profile_event e = {.kind = EVENT_SAMPLE};

		e.sample = (struct profile_sample){.kind = SAMPLE_SEEN,
			.thread = 1 + n % threads,
			.stack = 1 + n % stacks,
			.time_ns = START_NS + (n * 2 % EVENTS) * (LENGTH_NS / EVENTS),
			.period_ns = 1 + n % 7};
		time_of[n % threads % THREADS] += e.sample.period_ns;
		CHECK(!slice_sums_add(s, NULL, &e));
	}
	CHECK(!slice_sums_finish(s, NULL));
}

static void check_times(const struct slice_sums *s)
{
	uint64_t got[THREADS] = {0}, count = 0;

	for (uint32_t i = 0; i < s->count; i++)
		vec_foreach (sum, &s->items[i].sums) {
			got[s->all.keys.rests.items.items[sum->pair.rest].thread - 1] +=
				sum->time_ns;
			count += sum->count;
		}
	CHECK(!memcmp(got, time_of, sizeof(got)));
	CHECK(count == EVENTS);
}

static void few_stacks_are_kept(void)
{
	struct slice_sums s = {0};

	CHECK(!slice_sums_init(&s, START_NS, START_NS + LENGTH_NS));
	s.keys_max = 100;
	add_samples(&s, 20, THREADS);
	CHECK(!s.stackless && !s.overflow && s.all.keys.codes.items.count == 20);
	check_times(&s);
	slice_sums_release(&s);
}

static void too_many_are_left_out_and_all_time_stays(void)
{
	struct slice_sums s = {0};

	CHECK(!slice_sums_init(&s, START_NS, START_NS + LENGTH_NS));
	s.keys_max = 100;
	add_samples(&s, EVENTS, THREADS);
	CHECK(s.stackless && !s.overflow && s.all.keys.codes.items.count == 1 &&
		s.all.keys.rests.items.count == THREADS);
	CHECK(s.count > 1000);
	check_times(&s);
	vec_foreach (key, &s.all.keys.codes.items)
		CHECK(!key->stack && !key->node_stack);
	while (s.count > 100)
		CHECK(!slice_sums_join(&s));
	check_times(&s);
	slice_sums_release(&s);
}

static void what_is_too_much_without_stacks_is_not_kept(void)
{
	struct slice_sums s = {0};

	CHECK(!slice_sums_init(&s, START_NS, START_NS + LENGTH_NS));
	s.keys_max = 100;
	add_samples(&s, 1, 1000);
	CHECK(s.overflow && s.all.keys.codes.items.count == 0 && s.all.sums == 0);
	slice_sums_release(&s);
}

/* Each event has a pair of its own, of few of each half. */
static void many_pairs_have_more_room(void)
{
	struct slice_sums s = {0};

	CHECK(!slice_sums_init(&s, START_NS, START_NS + LENGTH_NS));
	s.sums_max = EVENTS / 3 * 2;
	add_samples(&s, EVENTS / THREADS + 1, THREADS);
	CHECK(s.callless && !s.stackless && !s.overflow);
	check_times(&s);
	slice_sums_release(&s);
}

static void more_pairs_than_that_are_without_stacks(void)
{
	struct slice_sums s = {0};

	CHECK(!slice_sums_init(&s, START_NS, START_NS + LENGTH_NS));
	s.sums_max = EVENTS / 5;
	add_samples(&s, EVENTS / THREADS + 1, THREADS);
	CHECK(s.callless && s.stackless && !s.overflow);
	check_times(&s);
	slice_sums_release(&s);
}

/* A sum has room for a few hours. */
static void long_times_are_of_several_sums(void)
{
	const uint64_t year_ns = 366ull * 24 * 3600 * 1000000000;
	struct profile_event e = {.kind = EVENT_SAMPLE};
	struct slice_sums s = {0};
	uint64_t got = 0, count = 0;

	CHECK(!slice_sums_init(&s, START_NS, START_NS + LENGTH_NS));
	e.sample = (struct profile_sample){.kind = SAMPLE_SEEN,
		.thread = 1,
		.stack = 1,
		.time_ns = START_NS,
		.period_ns = year_ns};
	CHECK(!slice_sums_add(&s, NULL, &e) && !slice_sums_add(&s, NULL, &e));
	CHECK(!slice_sums_finish(&s, NULL));
	for (uint32_t i = 0; i < s.count; i++)
		vec_foreach (sum, &s.items[i].sums) {
			got += sum->time_ns;
			count += sum->count;
		}
	CHECK(got == 2 * year_ns && count == 2);
	slice_sums_release(&s);
}

int main(void)
{
	RUN(many_pairs_have_more_room);
	RUN(more_pairs_than_that_are_without_stacks);
	RUN(long_times_are_of_several_sums);
	RUN(few_stacks_are_kept);
	RUN(too_many_are_left_out_and_all_time_stays);
	RUN(what_is_too_much_without_stacks_is_not_kept);
	return tap_end();
}
