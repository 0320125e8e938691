// SPDX-License-Identifier: MIT
#include "capture/perf_ring.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static size_t page_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

int perf_ring_open(struct perf_ring *r, int fd, size_t size)
{
	void *p = mmap(NULL, page_bytes() + size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	int error = p == MAP_FAILED ? -errno : 0;

	if (error) {
		close(fd);
		return error;
	}
	*r = (struct perf_ring){
		.fd = fd, .head = p, .data = (const uint8_t *)p + page_bytes(), .size = size};
	return 0;
}

void perf_ring_close(struct perf_ring *r)
{
	if (r->fd < 0)
		return;
	munmap(r->head, page_bytes() + r->size);
	close(r->fd);
	*r = PERF_RING_NONE;
}

uint64_t perf_ring_head(const struct perf_ring *r)
{
	return __atomic_load_n(&r->head->data_head, __ATOMIC_ACQUIRE);
}

uint64_t perf_ring_tail(const struct perf_ring *r)
{
	return r->head->data_tail;
}

/* The bytes at `position`, put together when they wrap. */
static const void *bytes_at(
	const struct perf_ring *r, uint64_t position, uint8_t *scratch, size_t size)
{
	size_t at = position & (r->size - 1);

	if (at + size <= r->size)
		return r->data + at;
	memcpy(scratch, r->data + at, r->size - at);
	memcpy(scratch + (r->size - at), r->data, size - (r->size - at));
	return scratch;
}

const void *perf_ring_record(const struct perf_ring *r, uint64_t position, uint64_t end,
	uint8_t *scratch, size_t *ret_size)
{
	const struct perf_event_header *header;

	if (end - position < sizeof(*header) || end - position > r->size)
		return NULL;
	header = bytes_at(r, position, scratch, sizeof(*header));
	*ret_size = header->size;
	if (*ret_size < sizeof(*header) || *ret_size > end - position)
		return NULL;
	return bytes_at(r, position, scratch, *ret_size);
}

void perf_ring_release(const struct perf_ring *r, uint64_t position)
{
	__atomic_store_n(&r->head->data_tail, position, __ATOMIC_RELEASE);
}
