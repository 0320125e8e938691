// SPDX-License-Identifier: MIT
#include "gpu/code_places.h"

#include <errno.h>

#include "tap.h"

#define EVERY_BIT UINT64_MAX

static struct code_place kernel(uint32_t instance, uint64_t address, uint32_t function)
{
	return (struct code_place){.address = address,
		.size = 0x100,
		.from_ns = 10,
		.process = instance,
		.instance = instance,
		.device = 1,
		.function = function};
}

static size_t processes_at(struct code_places *c, uint64_t address)
{
	const struct code_place *p;

	return code_places_find(c, 1, address, EVERY_BIT, 20, 20, &p);
}

static void each_program_has_its_own_place_at_an_address(void)
{
	struct code_places *c = code_places_new();
	struct code_place a = kernel(1, 0x8000, 1), b = kernel(2, 0x8000, 1);

	CHECK(!code_places_has(c, &a));
	CHECK(!code_places_add(c, &a) && code_places_has(c, &a) && !code_places_has(c, &b));
	CHECK(!code_places_add(c, &b) && code_places_has(c, &a) && code_places_has(c, &b));
	CHECK(processes_at(c, 0x8040) == 2);
	code_places_end_all(c, 1, 15);
	CHECK(!code_places_has(c, &a) && code_places_has(c, &b));
	CHECK(processes_at(c, 0x8040) == 1);
	code_places_free(c);
}

static void another_kernel_or_place_is_not_this_one(void)
{
	struct code_places *c = code_places_new();
	struct code_place a = kernel(1, 0x8000, 1), function = kernel(1, 0x8000, 2),
			  address = kernel(1, 0x8010, 1), far = kernel(1, 0x100008000, 1);

	CHECK(!code_places_add(c, &a));
	CHECK(!code_places_has(c, &function) && !code_places_has(c, &address) &&
		!code_places_has(c, &far));
	CHECK(!code_places_add(c, &function));
	CHECK(code_places_has(c, &function) && !code_places_has(c, &a));
	code_places_free(c);
}

static void what_finds_no_room_ends_what_was_there(void)
{
	struct code_places *c = code_places_new();
	struct code_place first = kernel(1, 0, 1), above = kernel(1, 0, 2);
	int error = 0;

	for (uint32_t n = 0; !error && n < CODE_PLACES_INSTANCE_MAX; n++) {
		struct code_place p = kernel(1, 0x100ull * n, 1);

		error = code_places_add(c, &p);
	}
	CHECK(!error && code_places_add(c, &above) == -ENOSPC);
	CHECK(!code_places_has(c, &first) && !code_places_has(c, &above));
	code_places_free(c);
}

int main(void)
{
	RUN(each_program_has_its_own_place_at_an_address);
	RUN(another_kernel_or_place_is_not_this_one);
	RUN(what_finds_no_room_ends_what_was_there);
	return tap_end();
}
