// SPDX-License-Identifier: MIT
/* Which pieces of work have times: one of each block, which it stands for. */
#include "inject/draws.h"

#include <pthread.h>
#include <stdlib.h>

#include "tap.h"

#define COUNT (1u << 16)

static uint32_t drawn[COUNT];

static void draw_all(uint32_t *count, uint32_t one_in)
{
	for (uint32_t n = 0; n < COUNT; n++)
		drawn[n] = draws_next(count, one_in);
}

/* Returns the first piece behind the block. */
static uint32_t check_block(uint32_t at, uint32_t size)
{
	uint32_t of_block = 0;

	for (uint32_t n = at; n < at + size; n++) {
		CHECK(!drawn[n] || drawn[n] == size);
		of_block += drawn[n] != 0;
	}
	CHECK(of_block == 1);
	return at + size;
}

static void each_block_has_one_that_stands_for_it(void)
{
	static const uint32_t parts[] = {2, 3, 16, 100, 1000};

	for (size_t p = 0; p < sizeof(parts) / sizeof(parts[0]); p++) {
		uint32_t count = 0, at = 0, size = 1;

		draw_all(&count, parts[p]);
		CHECK(count == COUNT);
		for (; size < parts[p]; size = size < parts[p] / 2 ? size * 2 : parts[p])
			at = check_block(at, size);
		while (at + parts[p] <= COUNT)
			at = check_block(at, parts[p]);
	}
}

static void the_first_piece_has_times_in_any_case(void)
{
	for (uint32_t one_in = 2; one_in < 2000; one_in += 7) {
		uint32_t count = 0;

		CHECK(draws_next(&count, one_in) == 1);
	}
}

static void any_place_of_a_block_is_as_likely(void)
{
	enum { PART = 16 };
	uint32_t count = 0, places[PART] = {0}, blocks = 0;

	draw_all(&count, PART);
	for (uint32_t n = PART - 1; n < COUNT; n++) {
		places[(n - (PART - 1)) % PART] += drawn[n] != 0;
		blocks += drawn[n] != 0;
	}
	CHECK(blocks >= COUNT / PART - 1);
	/* five standard deviations, and the same each time but for the address of `count` */
	for (uint32_t n = 0; n < PART; n++)
		CHECK(places[n] > 256 - 5 * 16 && places[n] < 256 + 5 * 16);
}

static uint32_t shared, sum;

static void *draw_some(void *unused)
{
	uint32_t own = 0;

	for (uint32_t n = 0; n < 1 + 2 + 4 + 8 * 1000; n++)
		own += draws_next(&shared, 8);
	__atomic_fetch_add(&sum, own, __ATOMIC_RELAXED);
	return NULL;
}

static void threads_draw_from_the_same_blocks(void)
{
	enum { THREADS = 4 };
	uint32_t all = THREADS * (1 + 2 + 4 + 8 * 1000);
	pthread_t threads[THREADS];

	for (int n = 0; n < THREADS; n++)
		CHECK(!pthread_create(&threads[n], NULL, draw_some, NULL));
	for (int n = 0; n < THREADS; n++)
		CHECK(!pthread_join(threads[n], NULL));
	/* the last block is not complete */
	CHECK(shared == all && sum > all - 8 && sum < all + 8);
}

int main(void)
{
	RUN(each_block_has_one_that_stands_for_it);
	RUN(the_first_piece_has_times_in_any_case);
	RUN(any_place_of_a_block_is_as_likely);
	RUN(threads_draw_from_the_same_blocks);
	return tap_end();
}
