/* SPDX-License-Identifier: MIT */
/*
 * Interned structs of one size: equal ones get the same dense id, counted from 1.
 *
 * Only the first `key_bytes` of an entry are compared, so that what follows them may be filled in
 * later. Entries are compared as bytes: the caller clears padding. Entries move when the table
 * grows; a pointer is good until the next table_append. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct table {
	size_t entry_bytes;
	char *entries;
	uint32_t *hashes; /* of the entries' keys */
	uint32_t count;
	size_t capacity;
	uint32_t *index; /* ids by hash, open addressing, 0 = free; at most half full */
	size_t index_mask;
	size_t index_used;
};

/* `entry_bytes` at least 1. Allocates nothing. */
void table_init(struct table *t, size_t entry_bytes);
void table_release(struct table *t);
/* The id of an entry with this key, or 0; *ret_hash is for table_append. */
uint32_t table_find(const struct table *t, const void *entry, size_t key_bytes, uint32_t *ret_hash);
/* Adds an entry that table_find did not find: 0 or -ENOMEM. */
int table_append(struct table *t, const void *entry, uint32_t hash, uint32_t *ret_id);
/* Overwrites an entry; it is found by its new key from now on. 0 or -ENOMEM. */
int table_replace(struct table *t, uint32_t id, const void *entry, size_t key_bytes);
/* NULL for 0 and ids beyond the last. */
void *table_get(const struct table *t, uint32_t id);
