// SPDX-License-Identifier: MIT
/* An open-addressing hash table, at most 2/3 full. */
#include "view/fold/gather.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/order.h"

void gather_release(struct gather *g)
{
	free(g->slots);
	*g = GATHER_INIT;
}

uint64_t gather_hash(const struct gather_key *k)
{
	uint64_t h = (uint64_t)k->stack << 32 | k->op;

	h ^= ((uint64_t)k->thread << 32 | k->node_stack) * 0xff51afd7ed558ccdull;
	return hash_combine(h, (uint64_t)k->api << 32 | k->event << 16 | k->reason);
}

static struct gather_sum *find(const struct gather *g, const struct gather_key *key)
{
	size_t i = gather_hash(key) & g->mask;

	while (g->slots[i].count && memcmp(&g->slots[i].key, key, sizeof(*key)))
		i = (i + 1) & g->mask;
	return &g->slots[i];
}

static int grow(struct gather *g)
{
	size_t capacity = g->slots ? (g->mask + 1) * 2 : 1024;
	struct gather bigger = {.mask = capacity - 1, .used = g->used};

	bigger.slots = calloc(capacity, sizeof(*bigger.slots));
	if (!bigger.slots)
		return error_set(-ENOMEM, "not enough memory to add up the events");
	for (size_t i = 0; g->slots && i <= g->mask; i++)
		if (g->slots[i].count)
			*find(&bigger, &g->slots[i].key) = g->slots[i];
	free(g->slots);
	*g = bigger;
	return 0;
}

int gather_add(struct gather *g, const struct gather_key *key, uint64_t time_ns)
{
	return gather_add_sum(g, key, time_ns, 1);
}

int gather_add_sum(struct gather *g, const struct gather_key *key, uint64_t time_ns, uint64_t count)
{
	struct gather_sum *sum;

	if (!g->slots || (g->used + 1) * 3 > (g->mask + 1) * 2) {
		int error = grow(g);

		if (error)
			return error;
	}
	sum = find(g, key);
	if (!sum->count) {
		sum->key = *key;
		g->used++;
	}
	sum->count += count;
	if (__builtin_add_overflow(sum->time_ns, time_ns, &sum->time_ns))
		return error_set(-EOVERFLOW, "the sum of all times does not fit 64 bits");
	return 0;
}

int gather_rest(struct gather *g, struct gather_waiting *w)
{
	size_t count = w->count;
	int error = 0;

	w->count = 0;
	for (size_t i = 0; !error && i < count; i++)
		error = gather_add(g, &w->items[i].key, w->items[i].time_ns);
	return error;
}

int gather_later(
	struct gather *g, struct gather_waiting *w, const struct gather_key *key, uint64_t time_ns)
{
	if (g->slots) {
		const struct gather_sum *slot = &g->slots[gather_hash(key) & g->mask];

		/* It may lie in two lines of the cache. */
		__builtin_prefetch(slot, 1);
		__builtin_prefetch(&slot->time_ns, 1);
	}
	w->items[w->count++] = (struct gather_sum){.key = *key, .time_ns = time_ns};
	return w->count < GATHER_WAITING ? 0 : gather_rest(g, w);
}

/* Without free slots. */
static void move_together(struct gather *g)
{
	size_t count = 0;

	for (size_t i = 0; i <= g->mask; i++)
		if (g->slots[i].count)
			g->slots[count++] = g->slots[i];
	g->mask = count - 1;
}

/* By all that they have, so that it is the same order whatever order they were added in. */
static void put_in_order(const struct gather *g, struct order *order)
{
	static const size_t fields[] = {
		offsetof(struct gather_key, event),
		offsetof(struct gather_key, reason),
		offsetof(struct gather_key, api),
		offsetof(struct gather_key, node_stack),
		offsetof(struct gather_key, thread),
		offsetof(struct gather_key, op),
		offsetof(struct gather_key, stack),
	};

	for (size_t n = 0; n < sizeof(fields) / sizeof(*fields); n++) {
		for (size_t i = 0; i < g->used; i++)
			memcpy(&order->numbers[i], (const char *)&g->slots[i].key + fields[n],
				sizeof(order->numbers[i]));
		order_sort(order);
	}
}

int gather_sort(struct gather *g)
{
	struct gather_sum *sorted;
	struct order order;
	int error;

	if (!g->used)
		return 0;
	move_together(g);
	error = order_init(&order, g->used);
	sorted = error ? NULL : calloc(g->used, sizeof(*sorted));
	if (!error && !sorted)
		error = error_memory("the stacks");
	if (!error) {
		put_in_order(g, &order);
		for (size_t i = 0; i < g->used; i++)
			sorted[i] = g->slots[order.items[i]];
		free(g->slots);
		g->slots = sorted;
	}
	order_release(&order);
	return error;
}

const struct gather_sum *gather_next(const struct gather *g, size_t *n)
{
	while (g->slots && *n <= g->mask) {
		const struct gather_sum *sum = &g->slots[(*n)++];

		if (sum->count)
			return sum;
	}
	return NULL;
}
