// SPDX-License-Identifier: MIT
/* Stacks of threads that sleep are read up to where they end, or cannot be read; a reply of any
 * content leads nowhere else. */
#include "sandbox/sleepers.h"

#include <errno.h>
#include <string.h>

#include "tap.h"

#define BASE	   0x7f0000000000ull
#define PAGE_BYTES 4096

/* Of a program: `bytes` from BASE on, each as byte_at. */
static uint64_t bytes;

static uint8_t byte_at(uint64_t address)
{
	return (uint8_t)(address ^ address >> 8);
}

static bool read_made_up(const struct python_memory *m, uint64_t address, void *ret, size_t size)
{
	if (address < BASE || address - BASE > bytes || size > bytes - (address - BASE))
		return false;
	for (size_t i = 0; i < size; i++)
		((uint8_t *)ret)[i] = byte_at(address + i);
	return true;
}

static const struct python_memory made_up = {.read = read_made_up};

struct request {
	struct sleepers_request head;
	struct sleeper_place places[SLEEPERS_MAX + 1];
};

static int ask(const struct sleeper_place *places, uint32_t count, struct buf *reply)
{
	static struct request r;

	r = (struct request){.head.count = count};
	memcpy(r.places, places, count * sizeof(*places));
	buf_reset(reply);
	return sleepers_read(&made_up, &r, sizeof(r.head) + count * sizeof(*places), reply);
}

/* How much of a stack is read; SIZE_MAX: not what is there. */
static size_t read_one(uint64_t sp, uint64_t end)
{
	const struct sleeper_place place = {.sp = sp, .end = end};
	struct buf reply = BUF_INIT;
	struct sleeper_stack s;
	size_t at = 0, size = SIZE_MAX;

	CHECK(!ask(&place, 1, &reply));
	if (sleepers_next(reply.data, reply.size, &at, &s) && at == reply.size)
		size = s.memory_size;
	for (size_t i = 0; size != SIZE_MAX && i < size; i++)
		if (s.memory[i] != byte_at(sp + i))
			size = SIZE_MAX;
	CHECK(size == SIZE_MAX || (!s.python_depth && !s.entry_count));
	buf_release(&reply);
	return size;
}

static void a_stack_is_read_up_to_its_end(void)
{
	bytes = 64 * PAGE_BYTES;
	CHECK(read_one(BASE + 16, BASE + 24) == 8);
	CHECK(read_one(BASE + 4000, BASE + 9000) == 5000);
	CHECK(read_one(BASE + 1, BASE + 9) == 8);
	CHECK(!read_one(BASE + 16, BASE + 20));
	CHECK(!read_one(BASE + 16, BASE + 16));
	CHECK(!read_one(BASE + 16, 0));
}

static void what_cannot_be_read_ends_it(void)
{
	bytes = 2 * PAGE_BYTES;
	CHECK(read_one(BASE + 16, BASE + 5 * PAGE_BYTES) == 2 * PAGE_BYTES - 16);
	CHECK(read_one(BASE + 3, BASE + 5 * PAGE_BYTES) == 2 * PAGE_BYTES - 8);
	CHECK(!read_one(BASE - 16, BASE + 16));
	CHECK(!read_one(UINT64_MAX - 15, UINT64_MAX));
	CHECK(!read_one(0, UINT64_MAX));
}

static void there_is_a_limit_for_a_thread_and_for_a_reply(void)
{
	struct sleeper_place places[SLEEPERS_MAX + 1];
	struct buf reply = BUF_INIT;
	struct sleeper_stack s;
	size_t at = 0, found = 0;

	bytes = 16 << 20;
	CHECK(read_one(BASE, BASE + bytes) == SLEEPER_STACK_BYTES);
	for (int i = 0; i <= SLEEPERS_MAX; i++)
		places[i] = (struct sleeper_place){.sp = BASE, .end = BASE + bytes};
	CHECK(!ask(places, SLEEPERS_MAX, &reply));
	while (sleepers_next(reply.data, reply.size, &at, &s))
		found++;
	CHECK(found == SLEEPERS_BYTES / SLEEPER_STACK_BYTES && at == reply.size);
	CHECK(ask(places, SLEEPERS_MAX + 1, &reply) == -EINVAL);
	CHECK(ask(places, 0, &reply) == -EINVAL);
	buf_release(&reply);
}

static void requests_that_make_no_sense_are_refused(void)
{
	struct request r = {.head.count = 2};
	struct buf reply = BUF_INIT;

	CHECK(sleepers_read(&made_up, &r, sizeof(r.head) - 1, &reply) == -EINVAL);
	CHECK(sleepers_read(&made_up, &r, sizeof(r.head) + sizeof(r.places[0]), &reply) == -EINVAL);
	r.head.count = UINT32_MAX;
	CHECK(sleepers_read(&made_up, &r, sizeof(r), &reply) == -EINVAL);
	buf_release(&reply);
}

static void replies_are_used_only_as_far_as_they_are_whole(void)
{
	struct {
		struct sleeper_found found;
		uint64_t words[2];
		struct walk_python_frame frame;
		uint64_t entry;
	} r = {.found = {.stack_bytes = 16, .python_depth = 1, .entry_count = 1}};
	const struct sleeper_found good = r.found;
	struct sleeper_stack s;
	size_t at = 0;

	CHECK(sleepers_next(&r, sizeof(r), &at, &s) && at == sizeof(r) &&
		s.memory == (const uint8_t *)r.words && s.memory_size == 16 &&
		s.python == &r.frame && s.entries == &r.entry);
	CHECK(!sleepers_next(&r, sizeof(r), &at, &s));
	for (size_t size = 0; size < sizeof(r); size++) {
		at = 0;
		CHECK(!sleepers_next(&r, size, &at, &s) && !at);
	}
	r.found.stack_bytes = 12;
	CHECK(!sleepers_next(&r, sizeof(r), &at, &s));
	r.found = good;
	r.found.stack_bytes = UINT32_MAX - 7;
	CHECK(!sleepers_next(&r, sizeof(r), &at, &s));
	r.found = good;
	r.found.python_depth = UINT32_MAX;
	CHECK(!sleepers_next(&r, sizeof(r), &at, &s));
	r.found = good;
	r.found.entry_count = WALK_PYTHON_ENTRIES_MAX + 1;
	CHECK(!sleepers_next(&r, sizeof(r), &at, &s));
}

int main(void)
{
	RUN(a_stack_is_read_up_to_its_end);
	RUN(what_cannot_be_read_ends_it);
	RUN(there_is_a_limit_for_a_thread_and_for_a_reply);
	RUN(requests_that_make_no_sense_are_refused);
	RUN(replies_are_used_only_as_far_as_they_are_whole);
	return tap_end();
}
