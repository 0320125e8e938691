// SPDX-License-Identifier: MIT
/* An open-addressing hash table, at most 2/3 full. */
#include "view/fold/pair_sums.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/large.h"

#define SUBJECT "the sums of events"

void pair_sums_release(struct pair_sums *p)
{
	free(p->slots);
	*p = (struct pair_sums){0};
}

static size_t place_of(const struct pair_sums *p, uint32_t first, uint32_t second)
{
	return hash_u64((uint64_t)first << 32 | second) & p->mask;
}

void pair_sums_prefetch(const struct pair_sums *p, uint32_t first, uint32_t second)
{
	if (p->slots)
		__builtin_prefetch(&p->slots[place_of(p, first, second)], 1);
}

static struct pair_sum *find(const struct pair_sums *p, uint32_t first, uint32_t second)
{
	size_t i = place_of(p, first, second);

	while (p->slots[i].used && (p->slots[i].first != first || p->slots[i].second != second))
		i = (i + 1) & p->mask;
	return &p->slots[i];
}

static int grow(struct pair_sums *p)
{
	size_t capacity = p->slots ? (p->mask + 1) * 2 : 1024;
	struct pair_sums bigger = {.mask = capacity - 1, .used = p->used};

	bigger.slots = calloc(capacity, sizeof(*bigger.slots));
	if (!bigger.slots)
		return error_memory(SUBJECT);
	large_advise(bigger.slots, capacity * sizeof(*bigger.slots));
	for (size_t i = 0; p->slots && i <= p->mask; i++)
		if (p->slots[i].used)
			*find(&bigger, p->slots[i].first, p->slots[i].second) = p->slots[i];
	free(p->slots);
	*p = bigger;
	return 0;
}

int pair_sums_add(struct pair_sums *p, struct pair_sum sum)
{
	struct pair_sum *slot;
	int error = 0;

	if (!p->slots || (p->used + 1) * 3 > (p->mask + 1) * 2)
		error = grow(p);
	if (error)
		return error;
	slot = find(p, sum.first, sum.second);
	if (!slot->used) {
		*slot = sum;
		slot->used = 1;
		p->used++;
		return 0;
	}
	slot->count += sum.count;
	if (__builtin_add_overflow(slot->time_ns, sum.time_ns, &slot->time_ns))
		return error_set(-EOVERFLOW, "the sum of all times does not fit 64 bits");
	return 0;
}

const struct pair_sum *pair_sums_next(const struct pair_sums *p, size_t *n)
{
	while (p->slots && *n <= p->mask) {
		const struct pair_sum *sum = &p->slots[(*n)++];

		if (sum->used)
			return sum;
	}
	return NULL;
}
