// SPDX-License-Identifier: MIT
/* Sums of events by what they are alike in, added one by one and in groups. */
#include <errno.h>

#include "tap.h"
#include "view/fold/gather.h"

#define EVENTS 100000
#define KEYS   3000 /* the table grows a few times */

static struct gather_key key_of(uint32_t n)
{
	return (struct gather_key){.event = 1, .stack = n % KEYS, .op = n % KEYS / 7};
}

static uint64_t time_of(uint32_t stack)
{
	uint64_t sum = 0;

	for (uint32_t n = stack; n < EVENTS; n += KEYS)
		sum += n;
	return sum;
}

static void events_that_wait_count_as_others_do(void)
{
	struct gather_waiting waiting = {0};
	struct gather now = GATHER_INIT, later = GATHER_INIT;
	const struct gather_sum *sum;
	size_t at = 0, count = 0;

	for (uint32_t n = 0; n < EVENTS; n++) {
		struct gather_key key = key_of(n);

		CHECK(gather_add(&now, &key, n) == 0);
		CHECK(gather_later(&later, &waiting, &key, n) == 0);
	}
	CHECK(gather_rest(&later, &waiting) == 0 && !waiting.count);
	CHECK(now.used == KEYS && later.used == KEYS && now.mask == later.mask);
	for (; (sum = gather_next(&later, &at)); count++) {
		CHECK(sum->time_ns == time_of(sum->key.stack));
		CHECK(sum->time_ns == now.slots[at - 1].time_ns);
		CHECK(sum->count == now.slots[at - 1].count);
	}
	CHECK(count == KEYS);
	gather_release(&now);
	gather_release(&later);
}

static void a_sum_that_waits_and_does_not_fit_is_an_error(void)
{
	struct gather_waiting waiting = {0};
	struct gather g = GATHER_INIT;
	struct gather_key key = key_of(1);

	CHECK(gather_later(&g, &waiting, &key, UINT64_MAX) == 0);
	CHECK(gather_later(&g, &waiting, &key, 1) == 0);
	CHECK(gather_rest(&g, &waiting) == -EOVERFLOW);
	gather_release(&g);
}

static void sums_are_sorted_by_stack_whatever_order_they_came_in(void)
{
	struct gather up = GATHER_INIT, down = GATHER_INIT;
	const struct gather_sum *a, *b;
	size_t at = 0, other = 0, count = 0;
	uint32_t last = 0;

	CHECK(gather_sort(&up) == 0 && !gather_next(&up, &at));
	for (uint32_t n = 0; n < EVENTS; n++) {
		struct gather_key key = key_of(n), back = key_of(EVENTS - 1 - n);

		key.thread = n % 3;
		back.thread = (EVENTS - 1 - n) % 3;
		CHECK(gather_add(&up, &key, n) == 0);
		CHECK(gather_add(&down, &back, EVENTS - 1 - n) == 0);
	}
	CHECK(gather_sort(&up) == 0 && gather_sort(&down) == 0);
	for (; (a = gather_next(&up, &at)) && (b = gather_next(&down, &other)); count++) {
		CHECK(!memcmp(a, b, sizeof(*a)) && a->key.stack >= last);
		last = a->key.stack;
	}
	CHECK(count == KEYS && !gather_next(&up, &at));
	gather_release(&up);
	gather_release(&down);
}

int main(void)
{
	RUN(events_that_wait_count_as_others_do);
	RUN(a_sum_that_waits_and_does_not_fit_is_an_error);
	RUN(sums_are_sorted_by_stack_whatever_order_they_came_in);
	return tap_end();
}
