// SPDX-License-Identifier: MIT
/* Samples that wait for an unwind table: what they keep, and how much of it. */
#include "capture/pending.h"

#include <errno.h>
#include <stdlib.h>

#include "bpf/events.h"
#include "tap.h"

static struct address_spaces spaces;
static uint8_t memory[32768];

static struct raw_stack stack_of(size_t memory_size)
{
	static const uint64_t words[] = {1, 2, 3, 4, 5, 6};
	static const struct walk_python_frame python[] = {{11, 12}, {13, 14 | WALK_PYTHON_LAST}};
	static const struct bpf_raw_stack start = {.pc = 21, .sp = 22, .fp = 23, .exact = 1};

	return (struct raw_stack){.user = words,
		.user_depth = 3,
		.kernel = words + 3,
		.kernel_depth = 2,
		.python = python,
		.python_depth = 2,
		.entries = words + 5,
		.entry_count = 1,
		.start = &start,
		.memory = memory,
		.memory_size = memory_size};
}

static void a_sample_keeps_all_that_its_stack_is_made_of(void)
{
	struct address_space *space = address_space_new(&spaces);
	const struct walk_range loops[WALK_LOOP_RANGES] = {{1, 2}, {3, 4}};
	struct raw_stack stack = stack_of(5);
	struct pending pending = {0};
	const struct pending_sample *s;

	memset(memory, 7, sizeof(memory));
	stack.loops = loops;
	s = pending_add(&pending, &stack, space);
	CHECK(s && s->space == space && space->references == 2);
	s->python_locations[0] = 31;
	s->python_locations[1] = 32;
	memset(memory, 0, sizeof(memory));
	CHECK(s->stack.user != stack.user && !memcmp(s->stack.user, stack.user, 24));
	CHECK(!memcmp(s->stack.kernel, stack.kernel, 16));
	CHECK(!memcmp(s->stack.python, stack.python, 32));
	CHECK(s->stack.entries[0] == 6 && s->stack.start->fp == 23);
	CHECK(s->stack.memory[0] == 7 && s->stack.memory[4] == 7);
	CHECK(s->stack.python_locations[1] == 32);
	CHECK(s->stack.loops != loops && s->stack.loops[1].end == 4);
	pending_release(&pending);
	CHECK(space->references == 1 && !pending.bytes);
	address_space_unref(space);
}

static void one_that_only_waits_for_names_has_no_copy_of_its_memory(void)
{
	struct address_space *space = address_space_new(&spaces);
	struct raw_stack stack = stack_of(0);
	const struct walk_python python = {.version = 0x030c};
	struct pending pending = {0};
	struct python_code *code;
	struct pending_sample *s;

	stack.start = NULL;
	stack.memory = NULL;
	CHECK(!python_code_new(&code, &python));
	s = pending_add(&pending, &stack, space);
	CHECK(s && !s->stack.start && s->python_locations);
	s->code = python_code_ref(code);
	pending_release(&pending);
	CHECK(!python_code_is_shared(code));
	python_code_unref(code);
	address_space_unref(space);
}

static void there_is_room_for_so_many_bytes_and_no_more(void)
{
	struct address_space *space = address_space_new(&spaces);
	const struct raw_stack stack = stack_of(sizeof(memory));
	struct pending pending = {0};
	size_t count = 0;

	while (count < 100000 && pending_add(&pending, &stack, space))
		count++;
	CHECK(count > PENDING_BYTES / (sizeof(memory) + 2048) &&
		count <= PENDING_BYTES / sizeof(memory));
	CHECK(pending.bytes <= PENDING_BYTES && pending.samples.count == count);
	pending_release(&pending);
	CHECK(space->references == 1);
	address_space_unref(space);
}

/* A process that maps without a pause has another space for each of its samples. */
static void so_many_bytes_are_those_of_address_spaces_too(void)
{
	const struct mapping code = {.end = 4096};
	const struct raw_stack stack = stack_of(8);
	struct pending pending = {0};
	struct address_space *space;
	size_t count = 0;
	bool kept = true;

	while (kept && count < 1000) {
		space = address_space_new(&spaces);
		for (int i = 0; i < 10000; i++)
			CHECK(!vec_push(&space->mappings, code));
		kept = pending_add(&pending, &stack, space) && pending_add(&pending, &stack, space);
		address_space_unref(space);
		count += kept;
	}
	CHECK(count > PENDING_BYTES / (10000 * sizeof(code)) - 2 &&
		count <= PENDING_BYTES / (10000 * sizeof(code)));
	pending_release(&pending);
	CHECK(!pending.bytes);
}

static uint32_t seen[8];
static size_t seen_count;

/* Done with those of an odd module; an error at module 6. */
static int look(void *context, struct pending_sample *s, bool *ret_done)
{
	seen[seen_count++] = s->module;
	*ret_done = s->module & 1;
	return s->module == 6 ? -EIO : 0;
}

static void those_that_are_done_leave_and_the_others_stay_in_order(void)
{
	struct address_space *space = address_space_new(&spaces);
	const struct raw_stack stack = stack_of(8);
	struct pending pending = {0};

	for (uint32_t i = 1; i <= 4; i++)
		pending_add(&pending, &stack, space)->module = i;
	CHECK(!pending_each(&pending, look, NULL));
	CHECK(seen_count == 4 && seen[0] == 1 && seen[3] == 4);
	CHECK(pending.samples.count == 2 && space->references == 3);
	seen_count = 0;
	pending_add(&pending, &stack, space)->module = 6;
	pending_add(&pending, &stack, space)->module = 7;
	CHECK(pending_each(&pending, look, NULL) == -EIO);
	CHECK(seen_count == 3 && seen[0] == 2 && seen[1] == 4 && seen[2] == 6);
	CHECK(pending.samples.count == 4);
	pending_release(&pending);
	address_space_unref(space);
}

int main(void)
{
	RUN(a_sample_keeps_all_that_its_stack_is_made_of);
	RUN(one_that_only_waits_for_names_has_no_copy_of_its_memory);
	RUN(there_is_room_for_so_many_bytes_and_no_more);
	RUN(so_many_bytes_are_those_of_address_spaces_too);
	RUN(those_that_are_done_leave_and_the_others_stay_in_order);
	return tap_end();
}
