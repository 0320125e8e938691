// SPDX-License-Identifier: MIT
#include "view/fold/keys.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

void keys_release(struct keys *k)
{
	vec_release(&k->items);
	free(k->index);
	*k = (struct keys){0};
}

static uint32_t *find(const struct keys *k, const struct gather_key *key)
{
	size_t i = gather_hash(key) & k->mask;

	while (k->index[i] && memcmp(&k->items.items[k->index[i] - 1], key, sizeof(*key)))
		i = (i + 1) & k->mask;
	return &k->index[i];
}

static int grow(struct keys *k)
{
	size_t capacity = k->index ? (k->mask + 1) * 2 : 1024;
	uint32_t *index = calloc(capacity, sizeof(*index));

	if (!index || k->items.count >= UINT32_MAX / 2) {
		free(index);
		return error_set(-ENOMEM, "not enough memory for the events");
	}
	free(k->index);
	k->index = index;
	k->mask = capacity - 1;
	for (size_t n = 0; n < k->items.count; n++)
		*find(k, &k->items.items[n]) = (uint32_t)n + 1;
	return 0;
}

int keys_add(struct keys *k, const struct gather_key *key, uint32_t *ret)
{
	uint32_t *slot;
	int error;

	if (!k->index || (k->items.count + 1) * 3 > (k->mask + 1) * 2) {
		error = grow(k);
		if (error)
			return error;
	}
	slot = find(k, key);
	if (!*slot) {
		if (vec_push(&k->items, *key))
			return error_set(-ENOMEM, "not enough memory for the events");
		*slot = (uint32_t)k->items.count;
	}
	*ret = *slot - 1;
	return 0;
}
