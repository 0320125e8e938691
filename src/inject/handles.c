// SPDX-License-Identifier: MIT
/* An entry may be in any of the WINDOW slots from where the handle's hash leads. A look-up reads
 * all of them, and the handle once more after the value. */
#include "inject/handles.h"

#include <errno.h>
#include <sys/mman.h>

#include "base/bare/hash_step.h"

#define SLOTS  ((size_t)1 << HANDLES_BITS)
#define WINDOW 16

enum {
	FREE = 0,
	BUSY = 1,
};

int handles_init(struct handles *h)
{
	void *memory = mmap(NULL, SLOTS * sizeof(*h->slots), PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (memory == MAP_FAILED)
		return -errno;
	h->slots = memory;
	return 0;
}

void handles_release(struct handles *h)
{
	if (h->slots)
		munmap(h->slots, SLOTS * sizeof(*h->slots));
	h->slots = NULL;
}

static struct handle_slot *slot_of(const struct handles *h, uintptr_t handle, size_t n)
{
	uint64_t hash = (uint64_t)handle * HASH_FACTOR >> (64 - HANDLES_BITS);

	return &h->slots[(hash + n) % SLOTS];
}

static uintptr_t handle_at(const struct handle_slot *s)
{
	return __atomic_load_n(&s->handle, __ATOMIC_ACQUIRE);
}

static void fill(struct handle_slot *s, uintptr_t handle, uintptr_t value)
{
	__atomic_store_n(&s->handle, BUSY, __ATOMIC_SEQ_CST);
	__atomic_store_n(&s->value, value, __ATOMIC_RELEASE);
	__atomic_store_n(&s->handle, handle, __ATOMIC_RELEASE);
}

static struct handle_slot *find_slot(const struct handles *h, uintptr_t handle, uintptr_t wanted)
{
	for (size_t n = 0; n < WINDOW; n++) {
		struct handle_slot *s = slot_of(h, handle, n);

		if (handle_at(s) == wanted)
			return s;
	}
	return NULL;
}

static struct handle_slot *find_leaving(
	const struct handles *h, uintptr_t handle, bool (*may_go)(uintptr_t value))
{
	for (size_t n = 0; n < WINDOW; n++) {
		struct handle_slot *s = slot_of(h, handle, n);

		if (!may_go || may_go(s->value))
			return s;
	}
	return NULL;
}

bool handles_put(
	struct handles *h, const void *handle, uintptr_t value, bool (*may_go)(uintptr_t value))
{
	uintptr_t key = (uintptr_t)handle;
	struct handle_slot *s;

	if (!h->slots || key <= BUSY)
		return false;
	s = find_slot(h, key, key);
	if (!s)
		s = find_slot(h, key, FREE);
	if (!s)
		s = find_leaving(h, key, may_go);
	if (s)
		fill(s, key, value);
	return s;
}

void handles_forget(struct handles *h, const void *handle)
{
	uintptr_t key = (uintptr_t)handle, value;
	struct handle_slot *s = h->slots && key > BUSY ? find_slot(h, key, key) : NULL;

	if (!s)
		return;
	value = __atomic_load_n(&s->value, __ATOMIC_ACQUIRE);
	if (handle_at(s) == key)
		__atomic_compare_exchange_n(
			&s->value, &value, 0, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
}

uintptr_t handles_get(const struct handles *h, const void *handle)
{
	uintptr_t key = (uintptr_t)handle, value;

	if (!h->slots || key <= BUSY)
		return 0;
	for (size_t n = 0; n < WINDOW; n++) {
		const struct handle_slot *s = slot_of(h, key, n);

		if (handle_at(s) != key)
			continue;
		value = __atomic_load_n(&s->value, __ATOMIC_ACQUIRE);
		return handle_at(s) == key ? value : 0;
	}
	return 0;
}
