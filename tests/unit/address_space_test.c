// SPDX-License-Identifier: MIT
/* Mappings that come, cover each other, and are shared between processes; beside a dumb twin. */
#include <stdlib.h>

#include "capture/address_space.h"
#include "tap.h"

static struct address_spaces spaces;

static struct address_space *fresh(void)
{
	struct address_space *s = address_space_new(&spaces);

	CHECK(s);
	return s;
}

static void add(struct address_space **s, uint64_t start, uint64_t end, uint32_t module)
{
	const struct mapping m = {.start = start, .end = end, .base = start, .module = module};

	CHECK(!address_space_add(s, &m));
}

static uint32_t module_at(const struct address_space *s, uint64_t address)
{
	const struct mapping *m = address_space_find(s, address);

	return m ? m->module : 0;
}

static void an_address_is_found_in_the_mapping_that_covers_it(void)
{
	struct address_space *s = fresh();

	add(&s, 0x1000, 0x2000, 1);
	add(&s, 0x5000, 0x6000, 2);
	CHECK(module_at(s, 0xfff) == 0 && module_at(s, 0x1000) == 1);
	CHECK(module_at(s, 0x1fff) == 1 && module_at(s, 0x2000) == 0);
	CHECK(module_at(s, 0x5800) == 2 && module_at(s, ~0ull) == 0);
	CHECK(mapping_offset(address_space_find(s, 0x5800), 0x5800) == 0x800);
	address_space_unref(s);
}

static void a_new_mapping_cuts_a_hole_into_an_old_one(void)
{
	struct address_space *s = fresh();

	add(&s, 0x1000, 0x9000, 1);
	add(&s, 0x3000, 0x5000, 2);
	CHECK(module_at(s, 0x2fff) == 1 && module_at(s, 0x3000) == 2);
	CHECK(module_at(s, 0x4fff) == 2 && module_at(s, 0x5000) == 1);
	CHECK(mapping_offset(address_space_find(s, 0x6000), 0x6000) == 0x5000);
	CHECK(s->mappings.count == 3);
	address_space_unref(s);
}

static void what_was_unmapped_before_can_be_mapped_without_a_new_generation(void)
{
	struct address_space *s = fresh();
	uint64_t generation = s->generation, changes = s->changes;

	add(&s, 0x1000, 0x2000, 1);
	CHECK(s->generation == generation && s->changes != changes);
	changes = s->changes;
	add(&s, 0x1000, 0x2000, 1);
	CHECK(s->generation == generation && s->changes == changes);
	add(&s, 0x1800, 0x2800, 2);
	CHECK(s->generation != generation);
	address_space_unref(s);
}

static void a_fork_shares_until_one_side_changes(void)
{
	struct address_space *parent = fresh(), *child;

	add(&parent, 0x1000, 0x2000, 1);
	child = address_space_ref(parent);
	add(&child, 0x3000, 0x4000, 2);
	CHECK(child != parent && child->generation != parent->generation);
	CHECK(module_at(parent, 0x3000) == 0 && module_at(child, 0x3000) == 2);
	CHECK(module_at(child, 0x1000) == 1);
	add(&parent, 0x3000, 0x4000, 3);
	CHECK(module_at(parent, 0x3000) == 3 && module_at(child, 0x3000) == 2);
	address_space_unref(parent);
	address_space_unref(child);
}

static void memory_that_grows_piece_by_piece_stays_one_mapping(void)
{
	struct address_space *s = fresh();

	for (uint64_t start = 0x10000; start < 0x20000; start += 0x1000) {
		const struct mapping m = {.start = start, .end = start + 0x1000, .module = 1};

		CHECK(!address_space_add(&s, &m));
	}
	CHECK(s->mappings.count == 1 && module_at(s, 0x1ffff) == 1);
	address_space_unref(s);
}

static void a_process_cannot_make_us_keep_mappings_without_end(void)
{
	struct address_space *s = fresh();
	int error = 0;

	for (uint64_t i = 1; !error && i < 2 * MAPPINGS_MAX; i++) {
		const struct mapping m = {.start = i << 13, .end = (i << 13) + 4096, .base = i};

		error = address_space_add(&s, &m);
	}
	CHECK(error == -ENOSPC && s->mappings.count <= MAPPINGS_MAX);
	address_space_unref(s);
}

static int try_to_add(struct address_space **s, uint64_t number)
{
	const struct mapping m = {
		.start = number << 13, .end = (number << 13) + 4096, .base = number};

	return address_space_add(s, &m);
}

/* A fork costs its parent's mappings as soon as it has one of its own. */
static void many_processes_together_cannot_do_so_either_and_small_ones_always_have_room(void)
{
	struct address_spaces all = {.most = 10000};
	struct address_space *parent = address_space_new(&all), *children[64], *small;
	int made = 0;

	for (uint64_t i = 1; i < 1000; i++)
		CHECK(!try_to_add(&parent, i));
	for (int i = 0; i < 64; i++) {
		children[i] = address_space_ref(parent);
		made += !try_to_add(&children[i], 5000);
	}
	CHECK(made == 9 && all.mappings <= all.most);
	CHECK(children[63] == parent && try_to_add(&children[63], 5000) == -ENOSPC);
	small = address_space_new(&all);
	for (uint64_t i = 1; i < 200; i++)
		CHECK(!try_to_add(&small, i));
	address_space_unref(small);
	for (int i = 0; i < 64; i++)
		address_space_unref(children[i]);
	CHECK(!try_to_add(&parent, 5000));
	address_space_unref(parent);
	CHECK(!all.mappings);
}

#define TWIN_SIZE 256

static void any_sequence_of_mappings_equals_that_of_an_array_by_address(void)
{
	uint32_t twin[TWIN_SIZE] = {0};
	struct address_space *s = fresh();

	srandom(1);
	for (uint32_t module = 1; module < 3000; module++) {
		uint64_t start = (uint64_t)random() % TWIN_SIZE;
		uint64_t size = 1 + (uint64_t)random() % 40;
		uint64_t end = start + size < TWIN_SIZE ? start + size : TWIN_SIZE;

		add(&s, start, end, module);
		for (uint64_t i = start; i < end; i++)
			twin[i] = module;
		for (uint64_t i = 0; i < TWIN_SIZE; i++)
			CHECK(module_at(s, i) == twin[i]);
	}
	address_space_unref(s);
}

static void what_was_known_of_an_address_is_outdated_once_something_took_its_place(void)
{
	struct address_space *s = fresh(), *child;
	uint32_t before, since;

	add(&s, 0x1000, 0x9000, 1);
	before = (uint32_t)s->generation;
	add(&s, 0xa000, 0xb000, 2);
	CHECK(!address_space_outdated(s, address_space_find(s, 0xa000), before));
	add(&s, 0x3000, 0x5000, 3);
	since = (uint32_t)s->generation;
	CHECK(address_space_outdated(s, address_space_find(s, 0x3000), before));
	CHECK(!address_space_outdated(s, address_space_find(s, 0x2fff), before));
	CHECK(!address_space_outdated(s, address_space_find(s, 0x5000), before));
	CHECK(!address_space_outdated(s, address_space_find(s, 0x3000), since));
	child = address_space_ref(s);
	add(&child, 0xc000, 0xd000, 4);
	CHECK(child != s &&
		!address_space_outdated(child, address_space_find(child, 0x3000), since));
	CHECK(!address_space_outdated(child, NULL, before));
	address_space_unref(child);
	address_space_unref(s);
	s = fresh();
	add(&s, 0x1000, 0x9000, 1);
	CHECK(address_space_outdated(s, address_space_find(s, 0x1000), since));
	address_space_unref(s);
}

int main(void)
{
	RUN(an_address_is_found_in_the_mapping_that_covers_it);
	RUN(a_new_mapping_cuts_a_hole_into_an_old_one);
	RUN(what_was_unmapped_before_can_be_mapped_without_a_new_generation);
	RUN(a_fork_shares_until_one_side_changes);
	RUN(memory_that_grows_piece_by_piece_stays_one_mapping);
	RUN(a_process_cannot_make_us_keep_mappings_without_end);
	RUN(many_processes_together_cannot_do_so_either_and_small_ones_always_have_room);
	RUN(any_sequence_of_mappings_equals_that_of_an_array_by_address);
	RUN(what_was_known_of_an_address_is_outdated_once_something_took_its_place);
	return tap_end();
}
