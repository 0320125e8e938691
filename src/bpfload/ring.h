/* SPDX-License-Identifier: MIT */
/*
 * The reading end of a BPF ring buffer.
 *
 * libbpf has one too; ours can take a snapshot (read up to where the ring was at a moment) and look
 * at the next record without taking it, which merging several rings by time needs. The layout is
 * the kernel's (Documentation/bpf/ringbuf.rst, kernel/bpf/ringbuf.c): a page with the consumer
 * position, one with the producer position, then the data twice in a row, so that a record never
 * wraps for the reader.
 *
 * Records stay valid until ring_release. A ring that is all zeros is an empty one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ring {
	uint64_t *consumer;	  /* writable page */
	const uint64_t *producer; /* read-only pages, then the data */
	const uint8_t *data;
	size_t size;
	size_t page_size;
	uint64_t position; /* how far we have read */
	uint64_t limit;	   /* how far we may read: the snapshot */
};

/* 0 or -errno with error_text. */
int ring_open(struct ring *r, int map_fd, size_t size);
void ring_close(struct ring *r);
/* Lets ring_peek see what is in the ring now; returns how many bytes that is. */
size_t ring_snapshot(struct ring *r);
/* The next record within the snapshot, or NULL. Records their writer gave up are passed over. One
 * that is still being written is waited for (a program may be preempted in the middle of that):
 * records behind it are complete, and their effects may be seen elsewhere already. */
const void *ring_peek(struct ring *r, size_t *ret_size);
/* Takes the record that ring_peek showed. */
void ring_take(struct ring *r);
/* Gives the memory of records that were taken back to the kernel. */
void ring_release(struct ring *r);
