// SPDX-License-Identifier: MIT
/* A few hundred tables at most, so an array that is searched from its start is enough. */
#include "unwind/space.h"

#include <string.h>

void space_release(struct space *s)
{
	vec_release(&s->free);
}

static void remove_at(struct space *s, size_t i)
{
	s->free.count--;
	memmove(s->free.items + i, s->free.items + i + 1,
		(s->free.count - i) * sizeof(*s->free.items));
}

static int insert_at(struct space *s, size_t i, struct space_range range)
{
	if (vec_push(&s->free, range))
		return -ENOMEM;
	memmove(s->free.items + i + 1, s->free.items + i,
		(s->free.count - 1 - i) * sizeof(*s->free.items));
	s->free.items[i] = range;
	return 0;
}

int space_give(struct space *s, uint32_t at, uint32_t words)
{
	struct space_range *ranges = s->free.items;
	size_t i = 0;

	while (i < s->free.count && ranges[i].at < at)
		i++;
	if (i && ranges[i - 1].at + ranges[i - 1].words == at) {
		ranges[i - 1].words += words;
		if (i < s->free.count && at + words == ranges[i].at) {
			ranges[i - 1].words += ranges[i].words;
			remove_at(s, i);
		}
		return 0;
	}
	if (i < s->free.count && at + words == ranges[i].at) {
		ranges[i].at = at;
		ranges[i].words += words;
		return 0;
	}
	return insert_at(s, i, (struct space_range){at, words});
}

bool space_alloc(struct space *s, uint32_t words, uint32_t *ret_at)
{
	for (size_t i = 0; i < s->free.count; i++) {
		struct space_range *range = &s->free.items[i];

		if (range->words < words)
			continue;
		*ret_at = range->at;
		range->at += words;
		range->words -= words;
		if (!range->words)
			remove_at(s, i);
		return true;
	}
	return false;
}
