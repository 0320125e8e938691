// SPDX-License-Identifier: MIT
/*
 * CUPTI's activity buffers.
 *
 * CUPTI asks for an empty buffer in the middle of a launch, and returns a full one from a thread of
 * its own or during a flush. Both must be quick. So the pool is fixed, and two stacks hold the
 * numbers of free and of completed buffers. Threads push and pop numbers without locks:
 *
 *	   CUPTI <-- buffer_requested --- [free] <----------- zeroed -----+
 *	     |                                                            |
 *	     +------ buffer_completed --> [completed] -- buffers_drain -> convert_buffer
 *
 * The head of the free stack carries a counter beside the number, so that a thread that was
 * interrupted in the middle of a pop notices that the stack has changed. The pool is reserved, not
 * touched: the buffer used last is used next, and a quiet program never touches more than a few of
 * them. When all are in use CUPTI drops records, and counts them.
 *
 * CUPTI is configured to expect zeroed buffers, or it would zero them in the launching thread.
 */
#include <errno.h>
#include <sys/mman.h>

#include "inject/cupti/cupti.h"
#include "inject/leave.h"
#include "inject/library.h"

#define BUFFERS	     256u
#define BUFFER_BYTES (256u * 1024u)
#define NONE	     0u /* numbers are kept plus one */

static struct {
	uint8_t *memory;
	uint64_t free; /* counter << 32 | number */
	uint32_t held; /* by CUPTI */
	uint32_t completed;
	uint32_t next[BUFFERS + 1];
	uint32_t valid_size[BUFFERS + 1];
} pool;

static void push_free(uint32_t number)
{
	uint64_t head = __atomic_load_n(&pool.free, __ATOMIC_RELAXED), wanted;

	do {
		__atomic_store_n(&pool.next[number], (uint32_t)head, __ATOMIC_RELAXED);
		wanted = ((head >> 32) + 1) << 32 | number;
	} while (!__atomic_compare_exchange_n(
		&pool.free, &head, wanted, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}

static uint32_t pop_free(void)
{
	uint64_t head = __atomic_load_n(&pool.free, __ATOMIC_ACQUIRE), wanted;

	do {
		if ((uint32_t)head == NONE)
			return NONE;
		wanted = ((head >> 32) + 1) << 32 |
			 __atomic_load_n(&pool.next[(uint32_t)head], __ATOMIC_RELAXED);
	} while (!__atomic_compare_exchange_n(
		&pool.free, &head, wanted, true, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE));
	return (uint32_t)head;
}

static uint8_t *buffer_at(uint32_t number)
{
	return pool.memory + (size_t)(number - 1) * BUFFER_BYTES;
}

int buffers_init(void)
{
	pool.memory = mmap(NULL, (size_t)BUFFERS * BUFFER_BYTES, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (pool.memory == MAP_FAILED)
		return -errno;
	for (uint32_t number = BUFFERS; number >= 1; number--)
		push_free(number);
	return 0;
}

/* CUPTI writes into those it holds, at any time. */
void buffers_release(void)
{
	if (pool.memory && !__atomic_load_n(&pool.held, __ATOMIC_ACQUIRE))
		munmap(pool.memory, (size_t)BUFFERS * BUFFER_BYTES);
	pool.memory = NULL;
}

static void offer(uint8_t **buffer, size_t *size, size_t *max_records)
{
	uint32_t number = is_alive() ? pop_free() : NONE;

	if (number != NONE)
		__atomic_fetch_add(&pool.held, 1, __ATOMIC_RELAXED);
	*buffer = number == NONE ? NULL : buffer_at(number);
	*size = number == NONE ? 0 : BUFFER_BYTES;
	*max_records = 0;
}

void buffer_requested(uint8_t **buffer, size_t *size, size_t *max_records)
{
	uint32_t *inside = leave_enter(__builtin_frame_address(0));

	offer(buffer, size, max_records);
	leave_exit(inside);
}

static void take_back(uint8_t *buffer, size_t valid_size)
{
	uint32_t number, head;

	number = (uint32_t)((size_t)(buffer - pool.memory) / BUFFER_BYTES) + 1;
	if (number > BUFFERS || buffer != buffer_at(number))
		return;
	__atomic_fetch_sub(&pool.held, 1, __ATOMIC_RELEASE);
	pool.valid_size[number] = valid_size > BUFFER_BYTES ? BUFFER_BYTES : (uint32_t)valid_size;
	head = __atomic_load_n(&pool.completed, __ATOMIC_RELAXED);
	do
		__atomic_store_n(&pool.next[number], head, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(
		&pool.completed, &head, number, true, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
	collector_has_work();
}

/* Also when all is over, so that those that it holds then are known. */
void buffer_completed(
	void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid_size)
{
	uint32_t *inside = leave_enter(__builtin_frame_address(0));

	if (buffer && (is_alive() || library.joined))
		take_back(buffer, valid_size);
	leave_exit(inside);
}

/* The stack of completed buffers has the newest on top. */
static uint32_t reverse(uint32_t number)
{
	uint32_t reversed = NONE;

	while (number != NONE) {
		uint32_t next = pool.next[number];

		pool.next[number] = reversed;
		reversed = number;
		number = next;
	}
	return reversed;
}

void buffers_drain(void (*visit)(uint8_t *buffer, size_t valid_size))
{
	uint32_t number = reverse(__atomic_exchange_n(&pool.completed, NONE, __ATOMIC_SEQ_CST));

	while (number != NONE) {
		uint32_t next = pool.next[number];

		if (pool.valid_size[number]) {
			visit(buffer_at(number), pool.valid_size[number]);
			memset(buffer_at(number), 0, BUFFER_BYTES);
		}
		push_free(number);
		number = next;
	}
}
