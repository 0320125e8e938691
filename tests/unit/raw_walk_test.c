// SPDX-License-Identifier: MIT
/* What of a stack is kept when code had been replaced by the time that it was sampled. */
#include "capture/raw_walk.h"

#include "tap.h"

static struct address_spaces spaces;

static void add(struct address_space **s, uint64_t start, uint32_t module)
{
	const struct mapping m = {
		.start = start, .end = start + 0x1000, .base = start, .module = module};

	CHECK(!address_space_add(s, &m));
}

static void what_was_found_by_replaced_code_is_walked_again(void)
{
	static const struct bpf_raw_stack start;
	const uint64_t frames[] = {0x1100, 0x5100, 0x1200};
	struct address_space *s = address_space_new(&spaces);
	struct raw_stack raw = {
		.user = frames, .user_depth = 3, .walk_end = WALK_COMPLETE, .start = &start};

	CHECK(s);
	add(&s, 0x1000, 1);
	add(&s, 0x5000, 2);
	raw.space = (uint32_t)s->generation;
	raw_walk_cut(s, &raw);
	CHECK(raw.user_depth == 3 && !raw_walk_is_worth_it(&raw));
	add(&s, 0x5000, 3);
	raw_walk_cut(s, &raw);
	CHECK(raw.user_depth == 2 && raw.walk_end == WALK_STALE && raw_walk_is_worth_it(&raw));
	address_space_unref(s);
}

static void the_last_frame_may_have_callers_where_it_had_none(void)
{
	static const struct bpf_raw_stack start;
	const uint64_t frames[] = {0x1100, 0x5100};
	struct address_space *s = address_space_new(&spaces);
	struct raw_stack raw = {
		.user = frames, .user_depth = 2, .walk_end = WALK_NO_RULE, .start = &start};

	CHECK(s);
	add(&s, 0x1000, 1);
	add(&s, 0x5000, 2);
	raw.space = (uint32_t)s->generation;
	CHECK(!raw_walk_is_worth_it(&raw));
	add(&s, 0x5000, 3);
	raw_walk_cut(s, &raw);
	CHECK(raw.user_depth == 2 && raw_walk_is_worth_it(&raw));
	address_space_unref(s);
}

static void without_material_it_is_left_as_it_is(void)
{
	const uint64_t frames[] = {0x5100};
	struct address_space *s = address_space_new(&spaces);
	struct raw_stack raw = {.user = frames, .user_depth = 1, .walk_end = WALK_NO_RULE};

	CHECK(s);
	add(&s, 0x5000, 2);
	raw.space = (uint32_t)s->generation;
	add(&s, 0x5000, 3);
	raw_walk_cut(s, &raw);
	CHECK(raw.walk_end == WALK_NO_RULE && !raw_walk_is_worth_it(&raw));
	address_space_unref(s);
}

int main(void)
{
	RUN(what_was_found_by_replaced_code_is_walked_again);
	RUN(the_last_frame_may_have_callers_where_it_had_none);
	RUN(without_material_it_is_left_as_it_is);
	return tap_end();
}
