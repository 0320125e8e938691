// SPDX-License-Identifier: MIT
#include "base/map.h"

#include <errno.h>
#include <stdlib.h>

#include "base/hash.h"

void map_release(struct map *m)
{
	free(m->slots);
	*m = MAP_INIT;
}

/* The slot that holds `key`, or the free slot where it would go. Needs at least one free slot. */
static struct map_slot *find_slot(const struct map *m, uint64_t key)
{
	size_t i = hash_u64(key) & m->mask;

	while (m->slots[i].used && m->slots[i].key != key)
		i = (i + 1) & m->mask;
	return &m->slots[i];
}

uint64_t *map_get(const struct map *m, uint64_t key)
{
	struct map_slot *slot;

	if (!m->slots)
		return NULL;
	slot = find_slot(m, key);
	return slot->used ? &slot->value : NULL;
}

void map_prefetch(const struct map *m, uint64_t key)
{
	if (m->slots)
		__builtin_prefetch(&m->slots[hash_u64(key) & m->mask], 1);
}

static int grow(struct map *m)
{
	size_t capacity = m->slots ? (m->mask + 1) * 2 : 16;
	struct map bigger = {.mask = capacity - 1, .count = m->count};

	bigger.slots = calloc(capacity, sizeof(*bigger.slots));
	if (!bigger.slots)
		return -ENOMEM;
	for (size_t i = 0; m->slots && i <= m->mask; i++)
		if (m->slots[i].used)
			*find_slot(&bigger, m->slots[i].key) = m->slots[i];
	free(m->slots);
	*m = bigger;
	return 0;
}

int map_put(struct map *m, uint64_t key, uint64_t value)
{
	struct map_slot *slot;

	if (!m->slots || (m->count + 1) * 4 > (m->mask + 1) * 3) {
		int error = grow(m);

		if (error)
			return error;
	}
	slot = find_slot(m, key);
	if (!slot->used)
		m->count++;
	*slot = (struct map_slot){.key = key, .value = value, .used = true};
	return 0;
}

/* Moves later members of the probe run back into the gap, so that lookups never meet a false
 * end. */
static void close_gap(struct map *m, size_t gap)
{
	size_t i = gap;

	for (;;) {
		size_t home;

		i = (i + 1) & m->mask;
		if (!m->slots[i].used)
			break;
		home = hash_u64(m->slots[i].key) & m->mask;
		if (((i - home) & m->mask) < ((i - gap) & m->mask))
			continue;
		m->slots[gap] = m->slots[i];
		gap = i;
	}
	m->slots[gap].used = false;
}

bool map_remove(struct map *m, uint64_t key, uint64_t *ret_value)
{
	struct map_slot *slot;

	if (!m->slots)
		return false;
	slot = find_slot(m, key);
	if (!slot->used)
		return false;
	if (ret_value)
		*ret_value = slot->value;
	m->count--;
	close_gap(m, (size_t)(slot - m->slots));
	return true;
}
