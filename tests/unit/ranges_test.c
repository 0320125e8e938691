// SPDX-License-Identifier: MIT
/* Ranges of an array that are given out, rest, and are given out again. */
#include "capture/ranges.h"

#include <errno.h>
#include <stdlib.h>

#include "tap.h"

static struct ranges ranges;

static int64_t take(uint32_t count, uint64_t now_ns)
{
	uint32_t first;
	int error = ranges_allocate(&ranges, count, now_ns, &first);

	return error ?: (int64_t)first;
}

static void what_is_given_out_does_not_overlap(void)
{
	CHECK(!ranges_init(&ranges, 100));
	CHECK(take(40, 0) == 0 && take(30, 0) == 40 && take(30, 0) == 70);
	CHECK(take(1, 0) == -ENOSPC);
	CHECK(take(0, 0) == 0);
	ranges_release(&ranges);
}

static void a_range_rests_before_it_is_given_out_again(void)
{
	CHECK(!ranges_init(&ranges, 10));
	CHECK(take(10, 5) == 0);
	CHECK(!ranges_give_back(&ranges, 0, 10, 5));
	CHECK(take(10, 5 + RANGES_REST_NS - 1) == -ENOSPC);
	CHECK(take(10, 5 + RANGES_REST_NS) == 0);
	ranges_release(&ranges);
}

static void neighbours_become_one(void)
{
	CHECK(!ranges_init(&ranges, 30));
	CHECK(take(10, 0) == 0 && take(10, 0) == 10 && take(10, 0) == 20);
	CHECK(!ranges_give_back(&ranges, 0, 10, 0) && !ranges_give_back(&ranges, 20, 10, 0));
	CHECK(!ranges_give_back(&ranges, 10, 10, 1));
	CHECK(take(11, RANGES_REST_NS) == -ENOSPC);
	CHECK(take(30, RANGES_REST_NS + 1) == 0);
	ranges_release(&ranges);
}

#define SLOTS 500

/* Beside a dumb twin: who has each slot, and since when nobody does. */
static void at_random_no_slot_is_given_out_twice_or_too_early(void)
{
	static struct {
		bool used;
		uint64_t free_ns;
	} slots[SLOTS];
	struct range held[64];
	size_t count = 0;
	uint32_t first;

	CHECK(!ranges_init(&ranges, SLOTS));
	srand(1);
	for (uint64_t now_ns = 0; now_ns < 20000 * (RANGES_REST_NS / 100);
		now_ns += RANGES_REST_NS / 100) {
		uint32_t wanted = (uint32_t)rand() % 20;

		if (count < 64 && rand() % 2 && !ranges_allocate(&ranges, wanted, now_ns, &first)) {
			for (uint32_t i = first; i < first + wanted; i++) {
				CHECK(!slots[i].used && slots[i].free_ns <= now_ns);
				slots[i].used = true;
			}
			held[count++] = (struct range){.first = first, .count = wanted};
		} else if (count) {
			struct range back = held[--count];

			CHECK(!ranges_give_back(&ranges, back.first, back.count, now_ns));
			for (uint32_t i = back.first; i < back.first + back.count; i++) {
				slots[i].used = false;
				slots[i].free_ns = now_ns + RANGES_REST_NS;
			}
		}
	}
	while (count--)
		CHECK(!ranges_give_back(&ranges, held[count].first, held[count].count, 0));
	CHECK(take(SLOTS, UINT64_MAX) == 0);
	ranges_release(&ranges);
}

int main(void)
{
	RUN(what_is_given_out_does_not_overlap);
	RUN(a_range_rests_before_it_is_given_out_again);
	RUN(neighbours_become_one);
	RUN(at_random_no_slot_is_given_out_twice_or_too_early);
	return tap_end();
}
