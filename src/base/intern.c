// SPDX-License-Identifier: MIT
/*
 * Entries by id in one array; an open-addressing index of ids over them, at most half full; bytes
 * in blocks of 64 KiB (a longer string gets a block of its own).
 */
#include "base/intern.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"

#define BLOCK_BYTES ((size_t)64 << 10)
#define GROUP	    32 /* look-ups under way at once */

struct entry {
	const char *data;
	size_t size;
	uint64_t hash;
};

struct interner {
	struct vec(struct entry) entries;
	struct vec(char *) blocks;
	size_t block_left;
	char *block_next;
	uint32_t *index; /* ids, 0 = free */
	size_t mask;
};

int interner_new(struct interner **ret)
{
	struct interner *in = calloc(1, sizeof(*in));

	if (!in)
		return -ENOMEM;
	in->mask = 63;
	in->index = calloc(in->mask + 1, sizeof(*in->index));
	if (!in->index) {
		free(in);
		return -ENOMEM;
	}
	*ret = in;
	return 0;
}

void interner_free(struct interner *in)
{
	if (!in)
		return;
	vec_foreach (block, &in->blocks)
		free(*block);
	vec_release(&in->blocks);
	vec_release(&in->entries);
	free(in->index);
	free(in);
}

static size_t find_slot(const struct interner *in, const void *data, size_t size, uint64_t hash)
{
	size_t i = hash & in->mask;

	while (in->index[i]) {
		const struct entry *e = &in->entries.items[in->index[i] - 1];

		if (e->hash == hash && e->size == size && (!size || !memcmp(e->data, data, size)))
			break;
		i = (i + 1) & in->mask;
	}
	return i;
}

static int grow_index(struct interner *in)
{
	size_t mask = in->mask * 2 + 1;
	uint32_t *index = calloc(mask + 1, sizeof(*index));

	if (!index)
		return -ENOMEM;
	for (uint32_t id = 1; id <= in->entries.count; id++) {
		size_t i = in->entries.items[id - 1].hash & mask;

		while (index[i])
			i = (i + 1) & mask;
		index[i] = id;
	}
	free(in->index);
	in->index = index;
	in->mask = mask;
	return 0;
}

/* Room for `size` bytes that never moves, or NULL. */
static char *alloc_bytes(struct interner *in, size_t size)
{
	char *bytes;

	if (size > in->block_left) {
		size_t block_size = size > BLOCK_BYTES ? size : BLOCK_BYTES;

		if (vec_reserve(&in->blocks, 1))
			return NULL;
		bytes = malloc(block_size);
		if (!bytes)
			return NULL;
		in->blocks.items[in->blocks.count++] = bytes;
		in->block_next = bytes;
		in->block_left = block_size;
	}
	bytes = in->block_next;
	in->block_next += size;
	in->block_left -= size;
	return bytes;
}

static int add_hashed(struct interner *in, const void *data, size_t size, uint64_t hash,
	uint32_t *ret_id, int *ret_added)
{
	size_t slot = find_slot(in, data, size, hash);
	char *bytes;

	if (ret_added)
		*ret_added = !in->index[slot];
	if (in->index[slot]) {
		*ret_id = in->index[slot];
		return 0;
	}
	if (in->entries.count >= UINT32_MAX - 1 || size == SIZE_MAX)
		return -ENOMEM;
	if ((in->entries.count + 1) * 2 > in->mask) {
		if (grow_index(in))
			return -ENOMEM;
		slot = find_slot(in, data, size, hash);
	}
	if (vec_reserve(&in->entries, 1))
		return -ENOMEM;
	bytes = alloc_bytes(in, size + 1);
	if (!bytes)
		return -ENOMEM;
	if (size)
		memcpy(bytes, data, size);
	bytes[size] = '\0';
	in->entries.items[in->entries.count++] = (struct entry){bytes, size, hash};
	in->index[slot] = (uint32_t)in->entries.count;
	*ret_id = in->index[slot];
	return 0;
}

int interner_add(
	struct interner *in, const void *data, size_t size, uint32_t *ret_id, int *ret_added)
{
	return add_hashed(in, data, size, hash_bytes(data, size), ret_id, ret_added);
}

/* A look-up follows three pointers (index, entry, bytes), each likely not in the cache; for a group
 * of items each step is asked for all of them before the first one needs it. */
int interner_add_all(struct interner *in, struct interner_item *items, size_t count)
{
	const struct entry *entries;
	int error = 0;

	for (size_t done = 0; !error && done < count; done += GROUP) {
		struct interner_item *group = items + done;
		size_t size = count - done < GROUP ? count - done : GROUP;

		for (size_t i = 0; i < size; i++) {
			group[i].hash = hash_bytes(group[i].data, group[i].size);
			__builtin_prefetch(&in->index[group[i].hash & in->mask]);
		}
		entries = in->entries.items;
		for (size_t i = 0; i < size; i++) {
			group[i].id = in->index[group[i].hash & in->mask];
			if (group[i].id)
				__builtin_prefetch(&entries[group[i].id - 1]);
		}
		for (size_t i = 0; i < size; i++)
			if (group[i].id)
				__builtin_prefetch(entries[group[i].id - 1].data);
		for (size_t i = 0; !error && i < size; i++)
			error = add_hashed(in, group[i].data, group[i].size, group[i].hash,
				&group[i].id, NULL);
	}
	return error;
}

uint32_t interner_find(const struct interner *in, const void *data, size_t size)
{
	return in->index[find_slot(in, data, size, hash_bytes(data, size))];
}

const char *interner_get(const struct interner *in, uint32_t id, size_t *ret_size)
{
	const struct entry *e;

	if (!id || id > in->entries.count) {
		if (ret_size)
			*ret_size = 0;
		return "";
	}
	e = &in->entries.items[id - 1];
	if (ret_size)
		*ret_size = e->size;
	return e->data;
}
