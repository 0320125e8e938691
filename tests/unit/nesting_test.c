// SPDX-License-Identifier: MIT
/* How many ranges lie in one another, by what a dumb count of all of them says. */
#include <stdint.h>

#include "random.h"
#include "tap.h"
#include "view/timeline/nesting.h"

#define RANGES 400

static struct {
	uint64_t begin_ns, end_ns;
} ranges[RANGES];
static size_t count;
static uint64_t now_ns;

/* A range with others in it, which end before it. */
static void make(unsigned int depth)
{
	uint64_t begin_ns = now_ns++;

	while (depth && count < RANGES - 30 && random_below(3))
		make(depth - 1);
	ranges[count].begin_ns = begin_ns;
	ranges[count++].end_ns = now_ns++;
}

static uint32_t depth_by_hand(void)
{
	uint32_t most = 0;

	for (size_t i = 0; i < count; i++) {
		uint32_t around = 0;

		for (size_t k = 0; k < count; k++)
			around += ranges[k].begin_ns <= ranges[i].begin_ns &&
				  ranges[k].end_ns >= ranges[i].end_ns;
		most = around > most ? around : most;
	}
	return most;
}

static uint32_t depth_of_all(struct nesting *n)
{
	uint32_t depth = 0;

	for (size_t i = 0; i < count; i++)
		CHECK(nesting_add(n, ranges[i].begin_ns, &depth) == 0);
	return depth;
}

static void depth_is_that_of_a_dumb_count(void)
{
	for (unsigned int n = 0; n < 200; n++) {
		struct nesting nesting = {0};

		count = 0;
		while (count < RANGES - 40)
			make(n % 12);
		CHECK(depth_of_all(&nesting) == depth_by_hand());
		CHECK(nesting.highest.count <= 13);
		nesting_release(&nesting);
	}
}

static void what_follows_each_other_is_not_nested(void)
{
	struct nesting nesting = {0};
	uint32_t depth = 0;

	for (uint64_t n = 0; n < 100000; n++)
		CHECK(nesting_add(&nesting, 10 * n, &depth) == 0);
	CHECK(depth == 1 && nesting.highest.count == 1);
	nesting_release(&nesting);
}

static void endless_nesting_takes_little_memory(void)
{
	struct nesting nesting = {0};
	uint32_t depth = 0;

	for (uint64_t n = 100000; n > 0; n--)
		CHECK(nesting_add(&nesting, n, &depth) == 0);
	CHECK(depth == NESTING_MAX && nesting.highest.count <= NESTING_MAX);
	nesting_release(&nesting);
}

int main(void)
{
	RUN(depth_is_that_of_a_dumb_count);
	RUN(what_follows_each_other_is_not_nested);
	RUN(endless_nesting_takes_little_memory);
	return tap_end();
}
