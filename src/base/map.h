/* SPDX-License-Identifier: MIT */
/*
 * A hash map from a 64-bit key to a 64-bit value: open addressing, linear probing, at most 3/4
 * full, deletion by shifting back (no tombstones). Any key and any value are allowed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct map_slot {
	uint64_t key;
	uint64_t value;
	bool used;
};

struct map {
	struct map_slot *slots;
	size_t count;
	size_t mask; /* capacity - 1, or 0 when nothing is allocated */
};

#define MAP_INIT ((struct map){0})

void map_release(struct map *m);
/* A pointer to the value, or NULL. Valid until the next map_put or map_remove. */
uint64_t *map_get(const struct map *m, uint64_t key);
/* Prefetches the key's slot, for a look-up that comes soon. */
void map_prefetch(const struct map *m, uint64_t key);
/* Inserts or overwrites: 0 or -ENOMEM. */
int map_put(struct map *m, uint64_t key, uint64_t value);
/* True when the key was there; *ret_value (may be NULL) is what it held. */
bool map_remove(struct map *m, uint64_t key, uint64_t *ret_value);
