/* SPDX-License-Identifier: MIT */
/*
 * What is in the maps of programs, as it was last read from the GPUs: one list for each map. What
 * programs only add to is added up, over multiprocessors, contexts and processes. Other values of
 * the same key stay apart where they are of different contexts.
 *
 * Entries that are 0 are left out: nobody can tell them from those that nothing wrote.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "probe/server.h"

#define VALUES_ANY UINT32_MAX /* not one of them */

struct value_entry {
	uint32_t arena;	   /* index, or VALUES_ANY */
	uint32_t sm;	   /* or VALUES_ANY */
	uint64_t thread;   /* its number in the grid, or UINT64_MAX */
	size_t key, value; /* where they are in `bytes` */
	bool is_gone;	   /* while it is made */
};

struct values {
	const struct ebpf_map *map;
	const struct map_place *place;
	struct vec(struct value_entry) entries;
	struct buf bytes;
	/* While it is made. */
	struct interner *keys;
	struct buf name;
};

/* Of all devices, or of one. 0 or -ENOMEM with error_text. */
int values_read(
	struct values *v, const struct server *s, uint32_t object, uint32_t map, uint32_t device);
/* Of one context. */
int values_read_arena(
	struct values *v, const struct server *s, uint32_t object, uint32_t map, uint32_t arena);
/* Of what is added up: what was added since it was `before`. */
void values_subtract(uint8_t *value, const uint8_t *before, uint32_t size, uint8_t width);
void values_release(struct values *v);
const uint8_t *values_key(const struct values *v, const struct value_entry *e);
const uint8_t *values_value(const struct values *v, const struct value_entry *e);
/* 8 bytes of a key or value from an offset on; 0 where there are fewer. */
uint64_t values_key_number(const struct values *v, const struct value_entry *e, uint32_t offset);
uint64_t values_number(const struct values *v, const struct value_entry *e, uint32_t offset);

/* Why something that programs wanted was not done, of all contexts. */
struct probe_losses {
	uint64_t arena[ARENA_LOSS_COUNT];
	uint64_t dropped;  /* records for which a ring had no place */
	uint64_t unread;   /* records that were begun and never came */
	uint64_t never;	   /* contexts whose values were never read */
	uint32_t cut;	   /* contexts that ended without our notice: values are older */
	uint64_t too_many; /* contexts in which no program ran */
	uint64_t notes;	   /* messages of processes */
};

void losses_read(struct probe_losses *l, const struct server *s);
