// SPDX-License-Identifier: MIT
/* Stacks that come in parts are put together; those of which something is missing are none. */
#include <errno.h>

#include "capture/stack_parts.h"
#include "tap.h"

#define THREAD	   7
#define ADDRESS(n) (0x100000 + (uint64_t)(n))

static struct stack_parts *parts;

static struct raw_stack raw(const uint64_t *user, uint32_t depth)
{
	return (struct raw_stack){.user = user, .user_depth = depth};
}

static int add(uint32_t tid, uint16_t part, const uint64_t *user, uint32_t depth)
{
	const struct bpf_stack s = {.part = part, .more = 1};
	const struct raw_stack r = raw(user, depth);

	return stack_parts_add(parts, PARTS_SAMPLES, tid, &s, &r);
}

static int join(uint32_t tid, uint16_t part, struct raw_stack *r)
{
	const struct bpf_stack s = {.part = part};

	return stack_parts_join(parts, PARTS_SAMPLES, tid, &s, r);
}

static void begin(void)
{
	parts = stack_parts_new();
	CHECK(parts);
}

static void end(void)
{
	stack_parts_free(parts);
}

static void all_parts_of_a_stack_are_one_behind_the_other(void)
{
	static const uint64_t words[] = {ADDRESS(0), ADDRESS(1), ADDRESS(2)}, entries[] = {10, 20};
	static const struct walk_python_frame python[] = {{1, 2}, {3, 4}, {5, 6}};
	const struct bpf_stack first = {.more = 1}, last = {.part = 1};
	struct raw_stack a = raw(words, 2), b = raw(words + 2, 1);

	begin();
	a.python = python;
	a.python_depth = 1;
	a.entries = entries;
	a.entry_count = 2;
	b.python = python + 1;
	b.python_depth = 2;
	CHECK(!stack_parts_add(parts, PARTS_WAITS, THREAD, &first, &a));
	CHECK(!stack_parts_join(parts, PARTS_WAITS, THREAD, &last, &b));
	CHECK(b.user_depth == 3 && !memcmp(b.user, words, sizeof(words)));
	CHECK(b.python_depth == 3 && !memcmp(b.python, python, sizeof(python)));
	CHECK(b.entry_count == 2 && !memcmp(b.entries, entries, sizeof(entries)));
	end();
}

static void a_whole_stack_stays_as_it_is(void)
{
	static const uint64_t words[] = {ADDRESS(0)};
	struct raw_stack r = raw(words, 1);

	begin();
	CHECK(!join(THREAD, 0, &r) && r.user == words && r.user_depth == 1);
	end();
}

static void parts_of_others_may_come_between(void)
{
	static const uint64_t words[] = {ADDRESS(0), ADDRESS(1)};
	struct raw_stack r = raw(words + 1, 1), other = raw(words, 1);
	const struct bpf_stack first = {.more = 1}, last = {.part = 1};

	begin();
	CHECK(!add(THREAD, 0, words, 1) && !add(THREAD + 1, 0, words + 1, 1));
	CHECK(!stack_parts_add(parts, PARTS_LAUNCHES, THREAD, &first, &other));
	CHECK(!join(THREAD, 1, &r) && r.user_depth == 2 && r.user[0] == words[0]);
	CHECK(!join(THREAD + 1, 1, &other) && other.user_depth == 2 && other.user[0] == words[1]);
	other = raw(words, 1);
	CHECK(!stack_parts_join(parts, PARTS_LAUNCHES, THREAD, &last, &other));
	CHECK(other.user_depth == 2);
	end();
}

static void a_stack_of_which_a_part_is_missing_is_none(void)
{
	static const uint64_t words[] = {ADDRESS(0)};
	struct raw_stack r = raw(words, 1);

	begin();
	CHECK(join(THREAD, 1, &r) == -EPROTO);
	CHECK(add(THREAD, 1, words, 1) == -EPROTO);
	CHECK(!add(THREAD, 0, words, 1) && join(THREAD, 2, &r) == -EPROTO);
	CHECK(join(THREAD, 1, &r) == -EPROTO); /* nothing was kept of it */
	/* The last record of the one before never came. */
	CHECK(!add(THREAD, 0, words, 1) && !add(THREAD, 0, words, 1) && !join(THREAD, 1, &r));
	CHECK(r.user_depth == 2);
	end();
}

static void python_frames_that_turned_out_to_be_none_leave_no_loops(void)
{
	static const uint64_t words[] = {ADDRESS(0) | WALK_FRAME_PYTHON, ADDRESS(1)};
	static const struct walk_python_frame python[] = {{1, 2}, {3, 4}};
	const struct bpf_stack first = {.more = 1}, last = {.part = 1, .python_void = 1};
	struct raw_stack a = raw(words, 2), b = raw(words + 1, 1);

	begin();
	a.python = python;
	a.python_depth = 2;
	b.python = python + 1;
	b.python_depth = 1;
	CHECK(!stack_parts_add(parts, PARTS_SAMPLES, THREAD, &first, &a));
	CHECK(!stack_parts_join(parts, PARTS_SAMPLES, THREAD, &last, &b));
	CHECK(b.user_depth == 3 && b.user[0] == ADDRESS(0));
	CHECK(b.python_depth == 1 && b.python[0].code == 3);
	end();
}

/* Every 100th frame is a loop. */
static uint64_t word_of(uint32_t n)
{
	return ADDRESS(n) | (n % 100 ? 0 : WALK_FRAME_PYTHON);
}

static uint64_t add_many(uint32_t count)
{
	uint64_t words[256];
	uint16_t part = 0;

	for (uint32_t n = 0; n < count; n += 256) {
		for (uint32_t i = 0; i < 256; i++)
			words[i] = word_of(n + i);
		CHECK(!add(THREAD, part++, words, 256));
	}
	return part;
}

static void of_a_stack_that_is_too_deep_the_middle_is_left_out(void)
{
	const uint64_t root = ADDRESS(1 << 20);
	struct raw_stack r = raw(&root, 1);
	uint32_t left_out, loops = 0;

	begin();
	CHECK(!join(THREAD, (uint16_t)add_many(4096), &r));
	CHECK(r.user_depth <= WALK_FRAMES_MAX && r.user_depth > WALK_FRAMES_MAX - 300);
	CHECK(r.user[r.user_depth - 1] == root);
	for (uint32_t n = 0; n < WALK_CUT_AT; n++)
		CHECK(r.user[n] == word_of(n));
	CHECK(walk_is_cut(r.user[WALK_CUT_AT]));
	left_out = 4096 - (r.user_depth - 2);
	for (uint32_t n = WALK_CUT_AT + 1; n < r.user_depth - 1; n++)
		CHECK(r.user[n] == word_of(n - 1 + left_out));
	for (uint32_t n = WALK_CUT_AT; n < WALK_CUT_AT + left_out; n++)
		loops += n % 100 == 0;
	CHECK(walk_groups(r.user[WALK_CUT_AT]) == loops);
	end();
}

static void a_stack_without_an_end_is_none(void)
{
	uint64_t words[256] = {ADDRESS(0)};
	uint16_t part;

	begin();
	part = (uint16_t)add_many(WALK_FOLLOWED_MAX);
	CHECK(add(THREAD, part, words, 1) == -EPROTO);
	end();
}

/*
 * A stack from 0x1f00 on:
 *
 *	0x1f00  0x100 bytes, and a page    the first piece
 *	0x3000  a page, which is absent    the second
 *	0x4000  a page
 *	0x5000  ten that are absent
 *	0xf000  a page                     the third
 */
static int add_piece(uint16_t part, uint32_t first, uint32_t pages, size_t size)
{
	static uint8_t memory[2 * BPF_RAW_PAGE_BYTES];
	const struct bpf_raw_stack start = {.pc = 1, .sp = 0x1f00, .first = first, .pages = pages};
	const struct bpf_stack s = {.part = part, .more = 1};
	const struct raw_stack r = {.start = &start, .memory = memory, .memory_size = size};

	memset(memory, part + 1, sizeof(memory));
	return stack_parts_add(parts, PARTS_SAMPLES, THREAD, &s, &r);
}

static void pieces_of_memory_are_where_they_were(void)
{
	static const uint64_t words[] = {ADDRESS(0)};
	struct raw_stack r = raw(words, 1);

	begin();
	CHECK(!add_piece(0, 0, 3, 0x1100) && !add_piece(1, 2, 2, 0x1000));
	CHECK(!add_piece(2, 14, 1, 0x1000) && !join(THREAD, 3, &r));
	CHECK(r.user_depth == 1 && r.start && r.start->sp == 0x1f00 && r.start->pc == 1);
	CHECK(r.memory_size == 0x10000 - 0x1f00 && r.absent && r.absent[0] == 0x3ff4);
	CHECK(r.memory[0] == 1 && r.memory[0x10ff] == 1 && !r.memory[0x1100]);
	CHECK(r.memory[0x4000 - 0x1f00] == 2 && r.memory[0x4fff - 0x1f00] == 2);
	CHECK(r.memory[0xf000 - 0x1f00] == 3);
	r = raw(words, 1);
	CHECK(!add(THREAD, 0, words, 1) && !join(THREAD, 1, &r) && !r.start); /* nothing is left */
	end();
}

static void pieces_that_make_no_sense_are_no_stack(void)
{
	begin();
	CHECK(!add_piece(0, 0, 3, 0x1100) && add_piece(1, 1, 1, 0x1000) == -EPROTO);
	CHECK(add_piece(0, 0, 3, 0x10ff) == -EPROTO && add_piece(0, 0, 1, 0) == -EPROTO);
	CHECK(add_piece(0, BPF_RAW_PAGES_MAX + 1, 1, 0x1000) == -EPROTO);
	CHECK(add_piece(0, BPF_RAW_PAGES_MAX, 1, 0x1000) == -EPROTO);
	CHECK(add_piece(0, BPF_RAW_PAGES_MAX - 1, 3, 0x2000) == -EPROTO);
	CHECK(!add_piece(0, BPF_RAW_PAGES_MAX - 1, 1, 0x1000));
	end();
}

int main(void)
{
	RUN(all_parts_of_a_stack_are_one_behind_the_other);
	RUN(a_whole_stack_stays_as_it_is);
	RUN(parts_of_others_may_come_between);
	RUN(a_stack_of_which_a_part_is_missing_is_none);
	RUN(python_frames_that_turned_out_to_be_none_leave_no_loops);
	RUN(of_a_stack_that_is_too_deep_the_middle_is_left_out);
	RUN(a_stack_without_an_end_is_none);
	RUN(pieces_of_memory_are_where_they_were);
	RUN(pieces_that_make_no_sense_are_no_stack);
	return tap_end();
}
