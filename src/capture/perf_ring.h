/* SPDX-License-Identifier: MIT */
/*
 * A ring of perf events: 2^n pages behind a page of positions (linux/perf_event.h). The kernel
 * writes records at `head`; we read from a position of our own, and give room back up to a
 * position. A record may wrap, and is then put together in the caller's memory.
 */
#pragma once

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>

#define PERF_RECORD_BYTES 65536 /* a record's size has 16 bits */

struct perf_ring {
	int fd; /* of the event that it was mapped by; owned */
	struct perf_event_mmap_page *head;
	const uint8_t *data;
	size_t size;
};

#define PERF_RING_NONE ((struct perf_ring){.fd = -1})

/* Maps the event's ring of `size` bytes, a power of two of pages: 0 or -errno. Owns `fd`, also on
 * failure. */
int perf_ring_open(struct perf_ring *r, int fd, size_t size);
void perf_ring_close(struct perf_ring *r);
/* How far the kernel has written. */
uint64_t perf_ring_head(const struct perf_ring *r);
/* How far room was given back. */
uint64_t perf_ring_tail(const struct perf_ring *r);
/* The record at `position`, which is before `end`, a head, and its size; NULL: there is none.
 * `scratch` has PERF_RECORD_BYTES. Valid until its room is given back. */
const void *perf_ring_record(const struct perf_ring *r, uint64_t position, uint64_t end,
	uint8_t *scratch, size_t *ret_size);
/* Gives room back. */
void perf_ring_release(const struct perf_ring *r, uint64_t position);
