// SPDX-License-Identifier: MIT
/*
 * A hash table of fixed size. A stream may be in any of the WINDOW slots that begin with the one
 * its handle's hash selects. A look-up reads all of them, so a slot can be freed at any time. A
 * stream that finds no free slot is not kept.
 *
 *	handle    FREE --made--> BUSY --number is written--> the stream's --end--> FREE
 *
 * A program uses a handle between the end of its creation and the begin of its destruction. During
 * that time the stream's slot does not change. If a program does otherwise, the stream may end
 * during a look-up: so the look-up reads the handle again after the number.
 */
#include "inject/cupti/streams.h"

#include <stddef.h>

#include "base/bare/hash_step.h"
#include "inject/cupti/cupti.h"
#include "inject/library.h"

#define SLOT_BITS 12
#define SLOTS	  ((size_t)1 << SLOT_BITS)
#define WINDOW	  16

/* What a slot without a stream contains. These handles are default streams. */
enum {
	FREE = 0,
	BUSY = 1,
	LAST_DEFAULT = 2,
};

struct slot {
	uintptr_t stream; /* handle */
	uint64_t numbers; /* of the context << 32 | of the stream */
};

static struct slot slots[SLOTS];

static struct slot *slot_of(uintptr_t stream, size_t n)
{
	uint64_t hash = (uint64_t)stream * HASH_FACTOR >> (64 - SLOT_BITS);

	return &slots[(hash + n) % SLOTS];
}

static uintptr_t stream_at(const struct slot *p)
{
	return __atomic_load_n(&p->stream, __ATOMIC_ACQUIRE);
}

static bool exchange(struct slot *p, uintptr_t from, uintptr_t to)
{
	return __atomic_compare_exchange_n(
		&p->stream, &from, to, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

uint32_t streams_context(void *context)
{
	uint32_t number = 0;

	if (!context || !cupti.GetContextId || cupti.GetContextId(context, &number))
		return 0;
	return number;
}

uint32_t streams_number(void *context, void *stream)
{
	uint32_t number = 0;

	if (!cupti.GetStreamIdEx || cupti.GetStreamIdEx(context, stream, 0, &number))
		return 0;
	return number;
}

static void keep(uintptr_t stream, uint64_t numbers)
{
	for (size_t n = 0; n < WINDOW; n++) {
		struct slot *p = slot_of(stream, n);

		if (!exchange(p, FREE, BUSY))
			continue;
		__atomic_store_n(&p->numbers, numbers, __ATOMIC_RELEASE);
		__atomic_store_n(&p->stream, stream, __ATOMIC_RELEASE);
		return;
	}
}

/* The handle may still be kept for one whose end was not reported. */
void streams_made(void *context, void *stream)
{
	uint32_t of_context, number;

	if ((uintptr_t)stream <= LAST_DEFAULT)
		return;
	streams_end(stream);
	of_context = streams_context(context);
	number = streams_number(context, stream);
	if (of_context && number)
		keep((uintptr_t)stream, (uint64_t)of_context << 32 | number);
}

void streams_end(void *stream)
{
	if ((uintptr_t)stream <= LAST_DEFAULT)
		return;
	for (size_t n = 0; n < WINDOW; n++)
		exchange(slot_of((uintptr_t)stream, n), (uintptr_t)stream, FREE);
}

void streams_end_all(void *context)
{
	uint32_t number = streams_context(context);

	if (!number)
		return;
	for (size_t n = 0; n < SLOTS; n++) {
		uintptr_t stream = stream_at(&slots[n]);

		if (stream > LAST_DEFAULT &&
			__atomic_load_n(&slots[n].numbers, __ATOMIC_ACQUIRE) >> 32 == number)
			exchange(&slots[n], stream, FREE);
	}
}

bool streams_find(const void *stream, uint32_t *ret_context, uint32_t *ret_number)
{
	if ((uintptr_t)stream <= LAST_DEFAULT)
		return false;
	for (size_t n = 0; n < WINDOW; n++) {
		const struct slot *p = slot_of((uintptr_t)stream, n);
		uint64_t numbers;

		if (stream_at(p) != (uintptr_t)stream)
			continue;
		numbers = __atomic_load_n(&p->numbers, __ATOMIC_ACQUIRE);
		if (stream_at(p) != (uintptr_t)stream)
			return false;
		*ret_context = (uint32_t)(numbers >> 32);
		*ret_number = (uint32_t)numbers;
		return true;
	}
	return false;
}
