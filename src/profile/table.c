// SPDX-License-Identifier: MIT
/*
 * Entries and the hashes of their keys by id, beside an index of ids. An entry that is overwritten
 * stays in the index under its old hash, where comparing the keys passes it by, until the index is
 * rebuilt.
 */
#include "profile/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

void table_init(struct table *t, size_t entry_bytes)
{
	*t = (struct table){.entry_bytes = entry_bytes};
}

void table_release(struct table *t)
{
	free(t->entries);
	free(t->hashes);
	free(t->index);
	table_init(t, t->entry_bytes);
}

void *table_get(const struct table *t, uint32_t id)
{
	if (!id || id > t->count)
		return NULL;
	return t->entries + (size_t)(id - 1) * t->entry_bytes;
}

uint32_t table_find(const struct table *t, const void *entry, size_t key_bytes, uint32_t *ret_hash)
{
	uint32_t hash = (uint32_t)hash_bytes(entry, key_bytes);
	uint32_t id;

	*ret_hash = hash;
	if (!t->index)
		return 0;
	for (size_t i = hash & t->index_mask; (id = t->index[i]); i = (i + 1) & t->index_mask)
		if (t->hashes[id - 1] == hash && !memcmp(table_get(t, id), entry, key_bytes))
			return id;
	return 0;
}

static void index_insert(uint32_t *index, size_t mask, uint32_t hash, uint32_t id)
{
	size_t i = hash & mask;

	while (index[i])
		i = (i + 1) & mask;
	index[i] = id;
}

/* Room for one more id in the index. */
static int reserve_index(struct table *t)
{
	size_t mask = t->index ? t->index_mask : 63;
	uint32_t *index;

	if (t->index && (t->index_used + 1) * 2 <= t->index_mask + 1)
		return 0;
	/* Where stale entries filled it, it is only cleared of them. */
	while (((size_t)t->count + 1) * 4 > mask + 1)
		mask = mask * 2 + 1;
	index = calloc(mask + 1, sizeof(*index));
	if (!index)
		return -ENOMEM;
	for (uint32_t id = 1; id <= t->count; id++)
		index_insert(index, mask, t->hashes[id - 1], id);
	free(t->index);
	t->index = index;
	t->index_mask = mask;
	t->index_used = t->count;
	return 0;
}

static int reserve_entry(struct table *t)
{
	size_t capacity = t->capacity ? t->capacity * 2 : 32;
	uint32_t *hashes;
	char *entries;

	if (t->count < t->capacity)
		return 0;
	if (t->count >= UINT32_MAX / 2)
		return -ENOMEM;
	entries = reallocarray(t->entries, capacity, t->entry_bytes);
	if (!entries)
		return -ENOMEM;
	t->entries = entries;
	hashes = reallocarray(t->hashes, capacity, sizeof(*hashes));
	if (!hashes)
		return -ENOMEM;
	t->hashes = hashes;
	t->capacity = capacity;
	return 0;
}

int table_append(struct table *t, const void *entry, uint32_t hash, uint32_t *ret_id)
{
	int error = reserve_entry(t);

	error = error ?: reserve_index(t);
	if (error)
		return error;
	memcpy(t->entries + (size_t)t->count * t->entry_bytes, entry, t->entry_bytes);
	t->hashes[t->count++] = hash;
	index_insert(t->index, t->index_mask, hash, t->count);
	t->index_used++;
	*ret_id = t->count;
	return 0;
}

int table_replace(struct table *t, uint32_t id, const void *entry, size_t key_bytes)
{
	uint32_t hash = (uint32_t)hash_bytes(entry, key_bytes);
	int error = reserve_index(t);

	if (error)
		return error;
	memcpy(table_get(t, id), entry, t->entry_bytes);
	if (t->hashes[id - 1] != hash) {
		t->hashes[id - 1] = hash;
		index_insert(t->index, t->index_mask, hash, id);
		t->index_used++;
	}
	return 0;
}
