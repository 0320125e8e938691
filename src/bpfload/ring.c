// SPDX-License-Identifier: MIT
/* Each record has a head of 8 bytes: its length with two flags, and a page offset that is the
 * kernel's. */
#include "bpfload/ring.h"

#include <errno.h>
#include <linux/bpf.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"

/* How long to wait for a record that is being written: at least 60 ms. */
#define PAUSE_NS 20000
#define PAUSES	 3000

int ring_open(struct ring *r, int map_fd, size_t size)
{
	size_t page_size = (size_t)sysconf(_SC_PAGESIZE);
	void *p;

	*r = (struct ring){.size = size, .page_size = page_size};
	p = mmap(NULL, page_size, PROT_READ | PROT_WRITE, MAP_SHARED, map_fd, 0);
	if (p == MAP_FAILED)
		return error_errno(-errno, "cannot map a BPF ring buffer");
	r->consumer = p;
	p = mmap(NULL, page_size + 2 * size, PROT_READ, MAP_SHARED, map_fd, (off_t)page_size);
	if (p == MAP_FAILED) {
		int error = error_errno(-errno, "cannot map a BPF ring buffer");

		ring_close(r);
		return error;
	}
	r->producer = p;
	r->data = (const uint8_t *)p + page_size;
	return 0;
}

void ring_close(struct ring *r)
{
	if (r->consumer)
		munmap(r->consumer, r->page_size);
	if (r->producer)
		munmap((void *)r->producer, r->page_size + 2 * r->size);
	*r = (struct ring){0};
}

size_t ring_snapshot(struct ring *r)
{
	if (!r->producer)
		return 0;
	r->limit = __atomic_load_n(r->producer, __ATOMIC_ACQUIRE);
	return (size_t)(r->limit - r->position);
}

/* The head of the record at our position; false at the limit and before one that is still being
 * written. */
static bool read_head(const struct ring *r, uint32_t *ret_head)
{
	const uint8_t *at = r->data + (r->position & (r->size - 1));

	if (r->position >= r->limit)
		return false;
	*ret_head = __atomic_load_n((const uint32_t *)at, __ATOMIC_ACQUIRE);
	return !(*ret_head & BPF_RINGBUF_BUSY_BIT);
}

static uint64_t record_space(uint32_t head)
{
	uint32_t length = head & ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);

	return ((uint64_t)length + BPF_RINGBUF_HDR_SZ + 7) & ~7ull;
}

static const void *peek(struct ring *r, size_t *ret_size)
{
	uint32_t head;

	while (read_head(r, &head)) {
		if (!(head & BPF_RINGBUF_DISCARD_BIT)) {
			*ret_size = head;
			return r->data + (r->position & (r->size - 1)) + BPF_RINGBUF_HDR_SZ;
		}
		r->position += record_space(head);
	}
	return NULL;
}

const void *ring_peek(struct ring *r, size_t *ret_size)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};
	const void *record = peek(r, ret_size);

	for (int i = 0; !record && r->position < r->limit && i < PAUSES; i++) {
		nanosleep(&pause, NULL);
		record = peek(r, ret_size);
	}
	if (!record)
		r->limit = r->position; /* no second patience in this round */
	return record;
}

void ring_take(struct ring *r)
{
	uint32_t head;

	if (read_head(r, &head))
		r->position += record_space(head);
}

void ring_release(struct ring *r)
{
	if (r->consumer)
		__atomic_store_n(r->consumer, r->position, __ATOMIC_RELEASE);
}
