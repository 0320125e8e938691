/* SPDX-License-Identifier: MIT */
/*
 * The shared ring: many writers (threads of the profiled program), one reader (the recorder),
 * neither of which ever waits for the other in here.
 *
 * Positions count slots since the beginning and never wrap (48 bits); slot number is position
 * modulo N. Every slot begins with a word that names its position and its record's length:
 *
 *	   63           16 15      0
 *	  +---------------+---------+--------------------------------------------+
 *	  | position + 1  |    n    |               56 bytes of payload          |
 *	  +---------------+---------+--------------------------------------------+
 *	    n = slots of the record that begins here; 0: a record goes on here
 *
 *	    tail                         head
 *	     v                            v
 *	... | A      | B | B' | (hole) | C |  free ...
 *
 * A writer reserves n slots by moving head, fills them, and writes the word of the first one last,
 * with release order: from then on the record can be read. Words of an earlier lap carry an earlier
 * position, so nobody needs to clear anything. A slot before head without its word is a hole: it is
 * being written, or its writer died. The reader waits at a hole. When its owner decides that nobody
 * will ever fill it, the reader looks for the next record behind it.
 *
 * The reader keeps its own position and trusts nothing in the memory: a head that is out of range,
 * or a word that no writer could have left there, is -EPROTO, and the ring is then to be given up.
 * Records are copied out before anything in them is looked at.
 *
 * A writer that was given up for dead and wakes again may overwrite the one record that now has its
 * slots. The word that it writes belongs to an earlier lap, which makes that record a hole, not a
 * wrong record.
 */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "wire/wire.h"

struct ring_slot {
	uint64_t word;
	uint8_t payload[WIRE_PAYLOAD_BYTES];
};

_Static_assert(sizeof(struct ring_slot) == WIRE_SLOT_BYTES, "slot");

#define RING_AHEAD 4 /* slots: two launches */

/* One side's view of a mapped ring. */
struct ring {
	struct wire_control *control;
	struct ring_slot *slots;
	uint64_t mask; /* slots - 1 */
};

static inline size_t ring_bytes(uint32_t slots)
{
	return WIRE_CONTROL_BYTES + WIRE_SPACE_BYTES + (size_t)slots * WIRE_SLOT_BYTES;
}

static inline struct ring ring_at(void *memory, uint32_t slots)
{
	return (struct ring){
		.control = memory,
		.slots = (struct ring_slot *)((char *)memory + WIRE_CONTROL_BYTES +
					      WIRE_SPACE_BYTES),
		.mask = slots - 1,
	};
}

static inline struct wire_space *ring_space(const struct ring *r)
{
	return (struct wire_space *)((char *)r->control + WIRE_CONTROL_BYTES);
}

static inline uint64_t ring_word(uint64_t position, uint64_t n)
{
	return (position + 1) << 16 | n;
}

/* ---- writers ---- */

/* Slots in use, as a writer sees it. */
static inline uint64_t ring_used(const struct ring *r)
{
	return __atomic_load_n(&r->control->head, __ATOMIC_RELAXED) -
	       __atomic_load_n(&r->control->tail, __ATOMIC_RELAXED);
}

/*
 * A writer may be interrupted between its two loads for as long as the others and the reader need
 * to go past its head, so the ring only counts as full when the head has not moved meanwhile.
 */
static inline bool ring_reserve(const struct ring *r, uint64_t n, uint64_t *ret_position)
{
	uint64_t *shared = &r->control->head, head = __atomic_load_n(shared, __ATOMIC_RELAXED);

	for (;;) {
		uint64_t tail = __atomic_load_n(&r->control->tail, __ATOMIC_ACQUIRE), seen = head;

		if (head + n - tail > r->mask + 1) {
			head = __atomic_load_n(shared, __ATOMIC_RELAXED);
			if (head == seen)
				return false;
		} else if (__atomic_compare_exchange_n(shared, &head, head + n, true,
				   __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
			*ret_position = head;
			return true;
		}
	}
}

/* Makes the record whose first slot is at `position` visible. */
static inline void ring_commit(const struct ring *r, uint64_t position, uint64_t n)
{
	__atomic_store_n(
		&r->slots[position & r->mask].word, ring_word(position, n), __ATOMIC_RELEASE);
}

/* A record of one slot; false when the ring is full. */
static inline bool ring_put(const struct ring *r, const void *payload)
{
	uint64_t position;

	if (!ring_reserve(r, 1, &position))
		return false;
	memcpy(r->slots[position & r->mask].payload, payload, WIRE_PAYLOAD_BYTES);
	ring_commit(r, position, 1);
	/* The reader's core has the line of a slot until it is written again: ask for it in
	 * time. */
	__builtin_prefetch(&r->slots[(position + RING_AHEAD) & r->mask], 1);
	return true;
}

/* Copies into the payloads of consecutive slots from byte `offset` of the record on. */
static inline void ring_fill(
	const struct ring *r, uint64_t position, size_t offset, const void *data, size_t size)
{
	const char *from = data;

	while (size) {
		size_t at = offset % WIRE_PAYLOAD_BYTES, part = WIRE_PAYLOAD_BYTES - at;
		uint64_t slot = position + offset / WIRE_PAYLOAD_BYTES;

		if (part > size)
			part = size;
		memcpy(r->slots[slot & r->mask].payload + at, from, part);
		from += part;
		offset += part;
		size -= part;
	}
}

/* A record of any length: `body` follows `head`. False when the ring is full or it is too long. */
static inline bool ring_put_long(const struct ring *r, const void *head, size_t head_size,
	const void *body, size_t body_size)
{
	uint64_t position,
		n = (head_size + body_size + WIRE_PAYLOAD_BYTES - 1) / WIRE_PAYLOAD_BYTES;

	if (n > WIRE_RECORD_SLOTS || !ring_reserve(r, n, &position))
		return false;
	ring_fill(r, position, 0, head, head_size);
	ring_fill(r, position, head_size, body, body_size);
	for (uint64_t i = 1; i < n; i++)
		__atomic_store_n(&r->slots[(position + i) & r->mask].word,
			ring_word(position + i, 0), __ATOMIC_RELAXED);
	ring_commit(r, position, n);
	return true;
}

/* ---- the reader ---- */

struct ring_reader {
	struct ring ring;
	uint64_t tail;	/* next slot to read */
	uint64_t limit; /* head at the last snapshot */
};

static inline void ring_reader_init(struct ring_reader *rr, void *memory, uint32_t slots)
{
	*rr = (struct ring_reader){.ring = ring_at(memory, slots)};
}

/* Reading will go on up to what was written before this call: 0 or -EPROTO. */
static inline int ring_snapshot(struct ring_reader *rr)
{
	uint64_t head = __atomic_load_n(&rr->ring.control->head, __ATOMIC_ACQUIRE);

	if (head - rr->tail > rr->ring.mask + 1 || head < rr->limit)
		return -EPROTO;
	rr->limit = head;
	return 0;
}

/* Room for more writers: everything read so far is released. */
static inline void ring_release(const struct ring_reader *rr)
{
	__atomic_store_n(&rr->ring.control->tail, rr->tail, __ATOMIC_RELEASE);
}

/* Slots of the record at `position`: 0 when there is none yet, -EPROTO for a word nobody could
 * write. */
static inline int ring_length_at(const struct ring_reader *rr, uint64_t position)
{
	const struct ring_slot *slot = &rr->ring.slots[position & rr->ring.mask];
	uint64_t word = __atomic_load_n(&slot->word, __ATOMIC_ACQUIRE);
	uint64_t n = word & 0xffff, owner = (word >> 16) - 1;

	if (owner == position)
		return n <= WIRE_RECORD_SLOTS && n <= rr->limit - position ? (int)n : -EPROTO;
	if (word == 0 || (owner < position && !((position - owner) & rr->ring.mask)))
		return 0;
	return -EPROTO;
}

/* True when the words of slots 1 .. n - 1 mark them as parts of the record. */
static inline bool ring_goes_on(const struct ring_reader *rr, uint64_t position, unsigned int n)
{
	for (uint64_t p = position + 1; p < position + n; p++)
		if (__atomic_load_n(&rr->ring.slots[p & rr->ring.mask].word, __ATOMIC_RELAXED) !=
			ring_word(p, 0))
			return false;
	return true;
}

/*
 * Copies the next record to `buffer` (WIRE_RECORD_SLOTS * WIRE_PAYLOAD_BYTES bytes): its size, a
 * multiple of WIRE_PAYLOAD_BYTES; 0 at the snapshot or at a hole before it (see ring_at_hole);
 * -EPROTO.
 */
static inline int ring_read(struct ring_reader *rr, void *buffer)
{
	const struct ring *r = &rr->ring;
	int n;

	if (rr->tail == rr->limit)
		return 0;
	n = ring_length_at(rr, rr->tail);
	if (n <= 0)
		return n;
	if (n > 1 && !ring_goes_on(rr, rr->tail, (unsigned int)n))
		return -EPROTO;
	for (int i = 0; i < n; i++)
		memcpy((char *)buffer + (size_t)i * WIRE_PAYLOAD_BYTES,
			r->slots[(rr->tail + (uint64_t)i) & r->mask].payload, WIRE_PAYLOAD_BYTES);
	rr->tail += (uint64_t)n;
	return n * (int)WIRE_PAYLOAD_BYTES;
}

static inline bool ring_at_hole(const struct ring_reader *rr)
{
	return rr->tail != rr->limit && ring_length_at(rr, rr->tail) == 0;
}

/* Gives the hole at the tail up: goes to the next record behind it, or to the snapshot. */
static inline void ring_skip_hole(struct ring_reader *rr)
{
	do
		rr->tail++;
	while (rr->tail != rr->limit && ring_length_at(rr, rr->tail) == 0);
}
