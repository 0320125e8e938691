// SPDX-License-Identifier: MIT
/* Parts of a recording: what of an event is in spans of time, and divisions that add up. */
#include <stdlib.h>

#include "base/portion.h"
#include "profile/clip.h"
#include "random.h"
#include "tap.h"
#include "view/range/edges.h"
#include "view/range/time.h"

#define PARTS 7

static const struct profile_span two[] = {{100, 200}, {300, 400}};
static const struct profile_clip clip = {.spans = two, .span_count = 2};

static void times_are_in_spans_or_not(void)
{
	CHECK(!clip_has_time(&clip, 99) && clip_has_time(&clip, 100) && clip_has_time(&clip, 199));
	CHECK(!clip_has_time(&clip, 200) && clip_has_time(&clip, 399) &&
		!clip_has_time(&clip, 400));
	CHECK(clip_has_time(NULL, 0));
	CHECK(clip_inside(&clip, 0, 1000) == 200 && clip_inside(&clip, 150, 350) == 100);
	CHECK(clip_inside(&clip, 200, 300) == 0 && clip_inside(NULL, 5, 9) == 4);
	CHECK(clip_edges_before(&clip, 99) == 0 && clip_edges_before(&clip, 100) == 1);
	CHECK(clip_edges_before(&clip, 250) == 2 && clip_edges_before(&clip, 400) == 4);
}

static void what_crosses_an_edge_comes_in_pieces(void)
{
	const struct profile_event e = {.kind = EVENT_WORK,
		.work = {.start_ns = 150, .duration_ns = 400, .bytes = 7, .weight = 1}};
	struct profile_event piece;
	size_t span = 0;

	CHECK(clip_next_piece(&clip, &e, &span, &piece));
	CHECK(piece.work.start_ns == 150 && piece.work.duration_ns == 50 && piece.work.bytes == 7);
	CHECK(!piece.work.cut.continued);
	CHECK(clip_next_piece(&clip, &e, &span, &piece));
	CHECK(piece.work.start_ns == 300 && piece.work.duration_ns == 100 && !piece.work.bytes);
	CHECK(piece.work.cut.continued && piece.work.cut.passed_ns == 150);
	CHECK(!clip_next_piece(&clip, &e, &span, &piece));
}

static void a_wait_is_in_the_run_queue_at_its_end(void)
{
	const struct profile_event e = {.kind = EVENT_WAIT,
		.wait = {.start_ns = 150, .duration_ns = 200, .queued_ns = 180, .others_ns = 9}};
	struct profile_event piece;
	size_t span = 0;

	CHECK(clip_next_piece(&clip, &e, &span, &piece));
	CHECK(piece.wait.duration_ns == 50 && piece.wait.queued_ns == 30 &&
		piece.wait.others_ns == 9);
	CHECK(clip_next_piece(&clip, &e, &span, &piece));
	CHECK(piece.wait.duration_ns == 50 && piece.wait.queued_ns == 50 && !piece.wait.others_ns);
}

/* One unit after the other, as the method is defined. */
static void count_units(const uint64_t *parts, uint64_t first, uint64_t *have)
{
	for (size_t i = 0; i < PARTS; i++)
		have[i] = 0;
	while (first--) {
		size_t best = 0;

		for (size_t i = 1; i < PARTS; i++)
			if (parts[i] * (have[best] + 1) > parts[best] * (have[i] + 1))
				best = i;
		have[best]++;
	}
}

static void portions_are_those_of_counting_unit_by_unit(void)
{
	uint64_t parts[PARTS], counted[PARTS], got[PARTS];
	bool same = true;

	for (unsigned int round = 0; round < 200; round++) {
		uint64_t whole = 0;

		for (size_t i = 0; i < PARTS; i++)
			whole += parts[i] = random_below(4) ? random_below(30) : 0;
		for (uint64_t first = 0; first <= whole; first++) {
			same &= !portion_first(parts, PARTS, whole, first, got);
			count_units(parts, first, counted);
			for (size_t i = 0; i < PARTS; i++)
				same &= got[i] == counted[i];
		}
	}
	CHECK(same);
}

/* Divides parts of an amount that came in pieces at random times, by one cut. */
static void divided_parts_add_up(void)
{
	bool all = true;

	for (unsigned int round = 0; round < 300; round++) {
		uint64_t cut = 1 + random_below(999), whole = 0, parts[PARTS], sums[PARTS] = {0};
		const struct profile_span halves[] = {{0, cut}, {cut, UINT64_MAX}};
		uint64_t times[20], inside = 0;

		for (size_t i = 0; i < 20; i++)
			times[i] = random_below(1000);
		for (size_t i = 0; i < PARTS; i++)
			whole += parts[i] = random_below(100);
		for (size_t half = 0; half < 2; half++) {
			const struct profile_clip c = {.spans = &halves[half], .span_count = 1};
			uint64_t own[PARTS], left = whole;
			struct edges e;

			all &= !edges_init(&e, &c);
			for (size_t i = 0; i < 20; i++) {
				uint64_t amount = i < 19 ? left / 3 : left;

				all &= !edges_add_at(&e, 5, times[i], amount);
				left -= amount;
			}
			for (size_t i = 0; i < PARTS; i++)
				own[i] = parts[i];
			all &= !edges_divide(&e, 5, own, PARTS);
			for (size_t i = 0; i < PARTS; i++)
				sums[i] += own[i], inside += own[i];
			inside -= edges_inside(&e, 5);
			edges_release(&e);
		}
		all &= !inside;
		for (size_t i = 0; i < PARTS; i++)
			all &= sums[i] == parts[i];
	}
	CHECK(all);
}

static uint64_t parsed(const char *text, const struct range_clock *clock)
{
	struct range_time t;
	uint64_t ns = 1;

	return range_time_parse(text, &t) || range_time_ns(&t, clock, &ns) ? 1 : ns;
}

static void times_are_read_as_people_write_them(void)
{
	/* Begins on 1 May 2026, 23:30 UTC. */
	const struct range_clock c = {1000, 1777678200ull * 1000000000 - 1000, 5000};

	setenv("TZ", "UTC", 1);
	CHECK(parsed("12.5s", &c) == 12500001000 && parsed("2", &c) == 2000001000);
	CHECK(parsed("1.5us", &c) == 2500 && parsed("0.123456789123s", &c) == 123457789);
	CHECK(parsed("1h", &c) == 3600000001000 && parsed("2min", &c) == 120000001000);
	CHECK(parsed("+200ns", &c) == 5200);
	CHECK(parsed("23:30:01.5", &c) == 1500001000);
	CHECK(parsed("00:30", &c) == 3600000001000);
	CHECK(parsed("2026-05-02 00:30:00", &c) == 3600000001000);
	CHECK(parsed("s", &c) == 1 && parsed("1x", &c) == 1 && parsed("", &c) == 1);
	CHECK(parsed("25:00", &c) == 1 && parsed("10:00:61", &c) == 1 && parsed("-1s", &c) == 1);
	CHECK(parsed("99999999999999999999s", &c) == 1 && parsed("9999999h", &c) == 1);
	CHECK(parsed("10:00", &(struct range_clock){1000, 0, 0}) == 1);
}

int main(void)
{
	RUN(times_are_in_spans_or_not);
	RUN(what_crosses_an_edge_comes_in_pieces);
	RUN(a_wait_is_in_the_run_queue_at_its_end);
	RUN(portions_are_those_of_counting_unit_by_unit);
	RUN(divided_parts_add_up);
	RUN(times_are_read_as_people_write_them);
	return tap_end();
}
