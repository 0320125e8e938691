// SPDX-License-Identifier: MIT
#include "inject/asked.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define BYTES (ASKED_BURSTS * sizeof(struct asked_set))

struct asked_set *asked_now;

static struct {
	struct asked_set *sets;
	uint32_t now;
} asked;

int asked_init(void)
{
	void *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (memory == MAP_FAILED)
		return -errno;
	asked.sets = memory;
	asked_now = asked.sets;
	return 0;
}

void asked_release(void)
{
	if (asked.sets)
		munmap(asked.sets, BYTES);
	asked.sets = asked_now = NULL;
}

void asked_begin(void)
{
	struct asked_set *next = &asked.sets[++asked.now % ASKED_BURSTS];

	if (next->first)
		memset(next, 0, sizeof(*next));
	asked_now = next;
}

/* Whether the set has the id; *ret_bit is where. */
static bool is_in(const struct asked_set *set, uint32_t correlation, uint32_t *ret_bit)
{
	uint32_t first = __atomic_load_n(&set->first, __ATOMIC_RELAXED);

	*ret_bit = correlation - first;
	return first && *ret_bit < ASKED_IDS &&
	       __atomic_load_n(&set->bits[*ret_bit / 32], __ATOMIC_RELAXED) & 1u << *ret_bit % 32;
}

bool asked_for(uint32_t correlation)
{
	uint32_t unused;

	for (uint32_t i = 0; i < ASKED_BURSTS; i++)
		if (is_in(&asked.sets[(asked.now - i) % ASKED_BURSTS], correlation, &unused))
			return true;
	return false;
}

bool asked_is_of_latest(uint32_t correlation)
{
	uint32_t unused;

	return is_in(asked_now, correlation, &unused);
}

bool asked_is_first_done(uint32_t correlation)
{
	uint32_t bit, before;

	if (!is_in(asked_now, correlation, &bit))
		return false;
	before = asked_now->done[bit / 32];
	asked_now->done[bit / 32] |= 1u << bit % 32;
	return !(before & 1u << bit % 32);
}
