// SPDX-License-Identifier: MIT
#include "export/deflate.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "export/prefix_code.h"
#include "random.h"
#include "tap.h"

#define SIZE_MAX_HERE ((size_t)600 << 10)

static struct deflater *deflater;
static uint8_t data[SIZE_MAX_HERE], back[SIZE_MAX_HERE], *compressed;

/* How large it became; zlib reads it. */
static size_t check_same(size_t size)
{
	uLongf read = sizeof(back);
	size_t made;

	memset(compressed, 0xee, deflate_bound(sizeof(data)));
	made = deflate_bytes(deflater, data, size, compressed);
	CHECK(made <= deflate_bound(size));
	CHECK(uncompress(back, &read, compressed, made) == Z_OK);
	CHECK(read == size && !memcmp(data, back, size));
	return made;
}

static void fill(size_t size, uint8_t (*byte)(size_t i))
{
	for (size_t i = 0; i < size; i++)
		data[i] = byte(i);
}

static uint8_t same(size_t i)
{
	return 'x';
}

static uint8_t any(size_t i)
{
	return (uint8_t)random_below(256);
}

static uint8_t one_of_two(size_t i)
{
	return (uint8_t)random_below(2);
}

/* Each value half as often as the one before: codes would need more bits than deflate has. */
static uint8_t ever_rarer(size_t i)
{
	uint8_t n = 0;

	while (n < 40 && random_below(2))
		n++;
	return n;
}

/* What was there at some distance, now and then: matches of all lengths and distances. */
static uint8_t copied(size_t i)
{
	static size_t distance, left;

	if (!left) {
		left = 1 + random_below(random_below(2) ? 12 : 400);
		distance = 1 + random_below(random_below(2) ? 40 : 40000);
	}
	left--;
	return distance <= i && random_below(100) ? data[i - distance] : (uint8_t)random_below(256);
}

static void zlib_reads_data_of_every_short_length(void)
{
	for (size_t size = 0; size < 400; size++) {
		fill(size, same);
		check_same(size);
		fill(size, any);
		check_same(size);
		fill(size, one_of_two);
		check_same(size);
	}
}

static void zlib_reads_data_of_all_kinds(void)
{
	uint8_t (*const kinds[])(size_t i) = {same, any, one_of_two, ever_rarer, copied};

	for (size_t n = 0; n < sizeof(kinds) / sizeof(*kinds); n++)
		for (size_t size = 1000; size <= sizeof(data); size *= 3) {
			fill(size, kinds[n]);
			check_same(size);
		}
}

static void zlib_reads_what_was_copied_in_many_ways(void)
{
	for (int i = 0; i < 40; i++) {
		fill(sizeof(data), copied);
		check_same(sizeof(data));
	}
}

static void what_repeats_becomes_small_and_what_does_not_hardly_grows(void)
{
	fill(sizeof(data), same);
	CHECK(check_same(sizeof(data)) < sizeof(data) / 200);
	fill(sizeof(data), one_of_two);
	CHECK(check_same(sizeof(data)) < sizeof(data) / 4);
	fill(sizeof(data), any);
	CHECK(check_same(sizeof(data)) < sizeof(data) + sizeof(data) / 50);
}

/* Fibonacci's numbers make the deepest tree. */
static void codes_are_never_too_long_and_take_up_all_bits(void)
{
	uint32_t counts[30] = {1, 1}, taken = 0, seen[1 << 9] = {0};
	struct prefix_code codes[30];

	for (size_t i = 2; i < 30; i++)
		counts[i] = counts[i - 1] + counts[i - 2];
	prefix_codes(codes, counts, 30, 9);
	for (size_t i = 0; i < 30; i++) {
		CHECK(codes[i].size >= 1 && codes[i].size <= 9);
		CHECK(!i || codes[i].size <= codes[i - 1].size);
		taken += 1u << (9 - codes[i].size);
		for (uint32_t rest = 0; rest < 1u << (9 - codes[i].size); rest++)
			seen[codes[i].bits | rest << codes[i].size]++;
	}
	CHECK(taken == 1 << 9);
	for (size_t i = 0; i < 1 << 9; i++)
		CHECK(seen[i] == 1);
}

int main(void)
{
	compressed = malloc(deflate_bound(sizeof(data)));
	CHECK(compressed && !deflater_new(&deflater));
	RUN(zlib_reads_data_of_every_short_length);
	RUN(zlib_reads_data_of_all_kinds);
	RUN(zlib_reads_what_was_copied_in_many_ways);
	RUN(what_repeats_becomes_small_and_what_does_not_hardly_grows);
	RUN(codes_are_never_too_long_and_take_up_all_bits);
	deflater_free(deflater);
	free(compressed);
	return tap_end();
}
