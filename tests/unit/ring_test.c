// SPDX-License-Identifier: MIT
/* The shared ring, both ends of it (wire/ring.h). */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "wire/ring.h"
#include "tap.h"

#define SLOTS	 WIRE_MIN_SLOTS
#define BODY_MAX (WIRE_RECORD_SLOTS * WIRE_PAYLOAD_BYTES)

struct fixture {
	void *memory;
	struct ring ring;
	struct ring_reader reader;
	uint64_t buffer[BODY_MAX / 8];
};

static struct fixture *set_up(void)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->memory = calloc(1, ring_bytes(SLOTS));
	f->ring = ring_at(f->memory, SLOTS);
	ring_reader_init(&f->reader, f->memory, SLOTS);
	return f;
}

static void tear_down(struct fixture *f)
{
	free(f->memory);
	free(f);
}

static bool put_number(struct fixture *f, uint64_t number)
{
	uint64_t payload[WIRE_PAYLOAD_BYTES / 8] = {number};

	return ring_put(&f->ring, payload);
}

/* The number in the next record; 0: none. */
static uint64_t next_number(struct fixture *f)
{
	return ring_read(&f->reader, f->buffer) > 0 ? f->buffer[0] : 0;
}

static void records_come_out_in_the_order_they_went_in(void)
{
	struct fixture *f = set_up();

	for (uint64_t n = 1; n <= 100; n++)
		CHECK(put_number(f, n));
	CHECK(ring_snapshot(&f->reader) == 0);
	for (uint64_t n = 1; n <= 100; n++)
		CHECK(next_number(f) == n);
	CHECK(ring_read(&f->reader, f->buffer) == 0);
	tear_down(f);
}

static void what_comes_after_the_snapshot_waits_for_the_next_one(void)
{
	struct fixture *f = set_up();

	put_number(f, 1);
	ring_snapshot(&f->reader);
	put_number(f, 2);
	CHECK(next_number(f) == 1);
	CHECK(next_number(f) == 0);
	ring_snapshot(&f->reader);
	CHECK(next_number(f) == 2);
	tear_down(f);
}

static void a_full_ring_refuses_and_takes_again_after_a_release(void)
{
	struct fixture *f = set_up();

	for (uint64_t n = 1; n <= SLOTS; n++)
		CHECK(put_number(f, n));
	CHECK(!put_number(f, 1));
	ring_snapshot(&f->reader);
	CHECK(next_number(f) == 1);
	CHECK(!put_number(f, 1));
	ring_release(&f->reader);
	CHECK(put_number(f, SLOTS + 1));
	CHECK(!put_number(f, 1));
	for (uint64_t n = 2; n <= SLOTS; n++)
		CHECK(next_number(f) == n);
	tear_down(f);
}

static void many_laps_of_records_of_all_lengths_come_out_whole(void)
{
	struct fixture *f = set_up();
	static char body[BODY_MAX], *got;
	uint64_t seed = 1;

	got = (char *)f->buffer;
	for (int round = 0; round < 3000; round++) {
		uint64_t head[2];
		size_t size;

		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		size = (seed >> 33) % (round % 10 ? 400 : BODY_MAX - 16);
		head[0] = size;
		head[1] = seed;
		memset(body, (int)(seed >> 40), size);
		CHECK(ring_put_long(&f->ring, head, sizeof(head), body, size));
		CHECK(ring_snapshot(&f->reader) == 0);
		CHECK(ring_read(&f->reader, f->buffer) >= (int)(size + 16));
		CHECK(f->buffer[0] == size && f->buffer[1] == seed);
		CHECK(!memcmp(got + 16, body, size));
		ring_release(&f->reader);
	}
	CHECK(f->reader.tail > 10 * SLOTS);
	tear_down(f);
}

static void a_record_longer_than_allowed_is_refused(void)
{
	struct fixture *f = set_up();
	static char body[BODY_MAX + 1];

	CHECK(ring_put_long(&f->ring, body, 16, body, BODY_MAX - 16));
	CHECK(!ring_put_long(&f->ring, body, 16, body, BODY_MAX - 15));
	CHECK(ring_used(&f->ring) == WIRE_RECORD_SLOTS);
	tear_down(f);
}

static void a_writer_that_died_leaves_a_hole_and_what_follows_is_read(void)
{
	struct fixture *f = set_up();
	uint64_t dead = 0;

	put_number(f, 1);
	CHECK(ring_reserve(&f->ring, 3, &dead));
	f->ring.slots[(dead + 1) & f->ring.mask].word = ring_word(dead + 1, 0);
	put_number(f, 2);
	ring_snapshot(&f->reader);
	CHECK(next_number(f) == 1);
	CHECK(ring_read(&f->reader, f->buffer) == 0);
	CHECK(ring_at_hole(&f->reader));
	ring_skip_hole(&f->reader);
	CHECK(next_number(f) == 2);
	CHECK(!ring_at_hole(&f->reader));
	tear_down(f);
}

static void a_slow_writer_is_waited_for(void)
{
	struct fixture *f = set_up();
	uint64_t slow = 0;

	CHECK(ring_reserve(&f->ring, 1, &slow));
	put_number(f, 2);
	ring_snapshot(&f->reader);
	CHECK(ring_read(&f->reader, f->buffer) == 0 && ring_at_hole(&f->reader));
	memcpy(f->ring.slots[slow].payload, &(uint64_t){1}, 8);
	ring_commit(&f->ring, slow, 1);
	CHECK(!ring_at_hole(&f->reader));
	CHECK(next_number(f) == 1);
	CHECK(next_number(f) == 2);
	tear_down(f);
}

static void a_hole_in_a_later_lap_is_seen_in_spite_of_the_old_word(void)
{
	struct fixture *f = set_up();
	uint64_t dead = 0;

	for (uint64_t n = 1; n <= SLOTS; n++)
		put_number(f, n);
	ring_snapshot(&f->reader);
	while (next_number(f))
		;
	ring_release(&f->reader);
	ring_reserve(&f->ring, 1, &dead);
	ring_snapshot(&f->reader);
	CHECK(ring_read(&f->reader, f->buffer) == 0);
	CHECK(ring_at_hole(&f->reader));
	tear_down(f);
}

static void a_head_out_of_range_is_an_error(void)
{
	struct fixture *f = set_up();

	put_number(f, 1);
	CHECK(ring_snapshot(&f->reader) == 0);
	f->ring.control->head = 0;
	CHECK(ring_snapshot(&f->reader) == -EPROTO);
	f->ring.control->head = SLOTS + 1;
	CHECK(ring_snapshot(&f->reader) == -EPROTO);
	f->ring.control->head = UINT64_MAX;
	CHECK(ring_snapshot(&f->reader) == -EPROTO);
	tear_down(f);
}

static void a_word_nobody_could_write_is_an_error(void)
{
	static const uint64_t words[] = {
		UINT64_MAX,				    /* far ahead */
		(0ull + 1) << 16 | (WIRE_RECORD_SLOTS + 1), /* too long */
		(0ull + 1) << 16 | 2,			    /* beyond the snapshot */
		(5ull + 1) << 16 | 1,			    /* another slot's */
		7,					    /* of no position at all */
	};

	for (size_t n = 0; n < sizeof(words) / sizeof(words[0]); n++) {
		struct fixture *f = set_up();

		put_number(f, 1);
		ring_snapshot(&f->reader);
		f->ring.slots[0].word = words[n];
		CHECK(ring_read(&f->reader, f->buffer) == -EPROTO);
		tear_down(f);
	}
}

static void a_long_record_whose_middle_was_scribbled_over_is_an_error(void)
{
	struct fixture *f = set_up();
	char body[500] = "x";

	ring_put_long(&f->ring, body, 16, body, sizeof(body));
	f->ring.slots[4].word ^= 1ull << 20;
	ring_snapshot(&f->reader);
	CHECK(ring_read(&f->reader, f->buffer) == -EPROTO);
	tear_down(f);
}

#define WRITERS	   4
#define PER_WRITER 50000

struct writer {
	pthread_t thread;
	struct fixture *fixture;
	uint64_t number;
	uint64_t refused;
};

/* Records of one slot and of four, that say who wrote them and when. */
static void *write_many(void *context)
{
	struct writer *w = context;

	for (uint64_t n = 1; n <= PER_WRITER;) {
		uint64_t payload[7] = {w->number, n, n * 3}, body[20];
		bool done;

		for (int i = 0; i < 20; i++)
			body[i] = n + (uint64_t)i;
		done = n % 5 ? ring_put(&w->fixture->ring, payload)
			     : ring_put_long(&w->fixture->ring, payload, 56, body, sizeof(body));
		if (done)
			n++;
		else
			w->refused++;
	}
	return NULL;
}

static bool is_whole(const uint64_t *r, int size)
{
	if (r[2] != r[1] * 3 || size != (r[1] % 5 ? 56 : 224))
		return false;
	for (int i = 0; size > 56 && i < 20; i++)
		if (r[7 + i] != r[1] + (uint64_t)i)
			return false;
	return true;
}

static void many_writers_lose_nothing_and_keep_their_own_order(void)
{
	struct fixture *f = set_up();
	struct writer writers[WRITERS] = {0};
	uint64_t seen[WRITERS] = {0}, total = 0;
	bool whole = true, ordered = true;

	for (uint64_t n = 0; n < WRITERS; n++) {
		writers[n].fixture = f;
		writers[n].number = n;
		pthread_create(&writers[n].thread, NULL, write_many, &writers[n]);
	}
	while (total < WRITERS * PER_WRITER) {
		int size;

		if (ring_snapshot(&f->reader))
			break;
		while ((size = ring_read(&f->reader, f->buffer)) > 0) {
			whole &= f->buffer[0] < WRITERS && is_whole(f->buffer, size);
			ordered &= f->buffer[1] == ++seen[f->buffer[0] % WRITERS];
			total++;
		}
		if (size < 0)
			break;
		ring_release(&f->reader);
	}
	CHECK(total == WRITERS * PER_WRITER);
	CHECK(whole);
	CHECK(ordered);
	for (int n = 0; n < WRITERS; n++)
		pthread_join(writers[n].thread, NULL);
	tear_down(f);
}

#define FEW	 64 /* laps are short so, and writers are passed by often */
#define TO_WRITE 400000

static uint64_t outstanding; /* put, or about to be put, and not released */

/* Never more than a few at a time, all writers together. */
static void *write_sparingly(void *context)
{
	struct writer *w = context;
	uint64_t payload[7] = {0};

	for (uint64_t n = 0; n < TO_WRITE; n++) {
		while (__atomic_add_fetch(&outstanding, 1, __ATOMIC_ACQUIRE) > FEW) {
			__atomic_fetch_sub(&outstanding, 1, __ATOMIC_RELAXED);
			sched_yield();
		}
		while (!ring_put(&w->fixture->ring, payload))
			w->refused++;
	}
	return NULL;
}

static void a_ring_with_room_refuses_nobody_however_long_a_writer_was_interrupted(void)
{
	struct fixture *f = set_up();
	struct writer writers[WRITERS] = {0};
	uint64_t total = 0, released = 0;

	outstanding = 0;
	for (uint64_t n = 0; n < WRITERS; n++) {
		writers[n].fixture = f;
		pthread_create(&writers[n].thread, NULL, write_sparingly, &writers[n]);
	}
	while (total < WRITERS * TO_WRITE && !ring_snapshot(&f->reader)) {
		while (ring_read(&f->reader, f->buffer) > 0)
			total++;
		ring_release(&f->reader);
		__atomic_fetch_sub(&outstanding, total - released, __ATOMIC_RELEASE);
		released = total;
	}
	for (int n = 0; n < WRITERS; n++) {
		pthread_join(writers[n].thread, NULL);
		CHECK(writers[n].refused == 0);
	}
	tear_down(f);
}

int main(void)
{
	RUN(records_come_out_in_the_order_they_went_in);
	RUN(what_comes_after_the_snapshot_waits_for_the_next_one);
	RUN(a_full_ring_refuses_and_takes_again_after_a_release);
	RUN(many_laps_of_records_of_all_lengths_come_out_whole);
	RUN(a_record_longer_than_allowed_is_refused);
	RUN(a_writer_that_died_leaves_a_hole_and_what_follows_is_read);
	RUN(a_slow_writer_is_waited_for);
	RUN(a_hole_in_a_later_lap_is_seen_in_spite_of_the_old_word);
	RUN(a_head_out_of_range_is_an_error);
	RUN(a_word_nobody_could_write_is_an_error);
	RUN(a_long_record_whose_middle_was_scribbled_over_is_an_error);
	RUN(many_writers_lose_nothing_and_keep_their_own_order);
	RUN(a_ring_with_room_refuses_nobody_however_long_a_writer_was_interrupted);
	return tap_end();
}
