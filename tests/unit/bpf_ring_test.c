// SPDX-License-Identifier: MIT
/* The reading end of a BPF ring buffer, on memory that a thread of ours writes as the kernel
 * would. */
#include <linux/bpf.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "bpfload/ring.h"
#include "tap.h"

#define RING_BYTES 4096

static uint64_t consumer, producer;
static uint8_t data[2 * RING_BYTES] __attribute__((aligned(8)));

static struct ring empty_ring(void)
{
	consumer = producer = 0;
	memset(data, 0, sizeof(data));
	return (struct ring){
		.consumer = &consumer, .producer = &producer, .data = data, .size = RING_BYTES};
}

/* A record of eight bytes, with these flags. */
static void write_record(uint64_t value, uint32_t flags)
{
	uint32_t *head = (uint32_t *)(data + producer);

	memcpy(data + producer + BPF_RINGBUF_HDR_SZ, &value, sizeof(value));
	__atomic_store_n(head, sizeof(value) | flags, __ATOMIC_RELEASE);
	__atomic_store_n(
		&producer, producer + BPF_RINGBUF_HDR_SZ + sizeof(value), __ATOMIC_RELEASE);
}

/* The next value; 0: there is none. */
static uint64_t take(struct ring *r)
{
	size_t size;
	const uint64_t *value = ring_peek(r, &size);
	uint64_t taken = value && size == sizeof(taken) ? *value : 0;

	if (value)
		ring_take(r);
	return taken;
}

static void *commit_later(void *unused)
{
	usleep(20000);
	__atomic_store_n((uint32_t *)data, sizeof(uint64_t), __ATOMIC_RELEASE);
	return NULL;
}

/* Whether both of two records were read, of which one was still being written when the round
 * began. */
static bool reads_both_in_one_round(void)
{
	struct ring r = empty_ring();
	pthread_t writer;
	uint64_t first;

	write_record(11, BPF_RINGBUF_BUSY_BIT);
	write_record(12, 0);
	ring_snapshot(&r);
	pthread_create(&writer, NULL, commit_later, NULL);
	first = take(&r);
	pthread_join(writer, NULL);
	if (!first)
		return false;
	CHECK(first == 11);
	CHECK(take(&r) == 12);
	CHECK(take(&r) == 0);
	ring_release(&r);
	CHECK(consumer == producer);
	return true;
}

/* The writer may be kept from its CPU for longer than the reader has patience, but not each
 * time. */
static void records_behind_one_that_is_being_written_are_read_in_the_same_round(void)
{
	bool both = false;

	for (int attempt = 0; !both && attempt < 20; attempt++)
		both = reads_both_in_one_round();
	CHECK(both);
}

static void a_record_that_is_never_finished_ends_the_round_and_not_the_recording(void)
{
	struct ring r = empty_ring();

	write_record(11, BPF_RINGBUF_BUSY_BIT);
	ring_snapshot(&r);
	CHECK(take(&r) == 0);
	ring_release(&r);
	CHECK(consumer == 0);
}

static void records_behind_the_snapshot_and_those_given_up_are_not_seen(void)
{
	struct ring r = empty_ring();

	write_record(11, BPF_RINGBUF_DISCARD_BIT);
	write_record(12, 0);
	CHECK(ring_snapshot(&r) == 32);
	write_record(13, 0);
	CHECK(take(&r) == 12);
	CHECK(take(&r) == 0);
	ring_snapshot(&r);
	CHECK(take(&r) == 13);
}

int main(void)
{
	RUN(records_behind_one_that_is_being_written_are_read_in_the_same_round);
	RUN(a_record_that_is_never_finished_ends_the_round_and_not_the_recording);
	RUN(records_behind_the_snapshot_and_those_given_up_are_not_seen);
	return tap_end();
}
