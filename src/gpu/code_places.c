// SPDX-License-Identifier: MIT
/*
 * Places in the order in which they came, and an index of them by the low 32 bits of their
 * addresses, which is made anew for the first question after a change. Each entry of it knows how
 * far those before it reach, so a search goes back only as far as one may cover the address.
 */
#include "gpu/code_places.h"

#include <errno.h>
#include <stdlib.h>

#include "base/search.h"
#include "base/vec.h"

#define PLACES_MAX (1u << 16)
#define LOW_MASK   0xffffffffull
#define ALIVE	   UINT64_MAX

struct entry {
	uint64_t low;	/* of the address */
	uint64_t reach; /* the highest end of this and all before */
	uint32_t place;
};

struct code_places {
	struct vec(struct code_place) places;
	struct vec(struct entry) index;
	bool changed;
};

struct code_places *code_places_new(void)
{
	return calloc(1, sizeof(struct code_places));
}

void code_places_free(struct code_places *c)
{
	if (!c)
		return;
	vec_release(&c->places);
	vec_release(&c->index);
	free(c);
}

static bool overlap(const struct code_place *a, const struct code_place *b)
{
	return a->address < b->address + b->size && b->address < a->address + a->size;
}

/* Libraries end what they know to be gone; what they missed ends when something else is there. */
static void end_below(struct code_places *c, const struct code_place *new)
{
	vec_foreach (p, &c->places)
		if (p->until_ns == ALIVE && p->instance == new->instance &&
			p->device == new->device &&overlap(p, new))
			p->until_ns = new->from_ns;
}

int code_places_add(struct code_places *c, const struct code_place *place)
{
	struct code_place new = *place;

	/* The hardware has code in areas of 4 GiB, none of which it crosses. */
	if (!new.size || new.size > LOW_MASK + 1 - (new.address &LOW_MASK))
		return -EINVAL;
	if (c->places.count >= PLACES_MAX)
		return -ENOSPC;
	new.until_ns = ALIVE;
	end_below(c, &new);
	c->changed = true;
	return vec_push(&c->places, new);
}

void code_places_end(struct code_places *c, uint32_t instance, uint64_t address, uint64_t time_ns)
{
	vec_foreach (p, &c->places)
		if (p->until_ns == ALIVE && p->instance == instance &&
			(address == UINT64_MAX || p->address == address))
			p->until_ns = time_ns;
}

static int compare_entries(const void *a_, const void *b_)
{
	const struct entry *a = a_, *b = b_;

	if (a->low != b->low)
		return a->low < b->low ? -1 : 1;
	return a->place < b->place ? -1 : a->place > b->place;
}

/* False when memory is short: then nothing is found. */
static bool make_index(struct code_places *c)
{
	uint64_t reach = 0;

	c->index.count = 0;
	if (vec_reserve(&c->index, c->places.count))
		return false;
	for (uint32_t i = 0; i < c->places.count; i++)
		c->index.items[i] = (struct entry){c->places.items[i].address & LOW_MASK, 0, i};
	c->index.count = c->places.count;
	qsort(c->index.items, c->index.count, sizeof(*c->index.items), compare_entries);
	vec_foreach (e, &c->index) {
		uint64_t end = e->low + c->places.items[e->place].size;

		reach = end > reach ? end : reach;
		e->reach = reach;
	}
	c->changed = false;
	return true;
}

static bool has(const struct code_place *p, uint64_t address, uint64_t mask)
{
	return ((address - p->address) & mask) < p->size;
}

size_t code_places_find(struct code_places *c, uint32_t device, uint64_t address, uint64_t mask,
	uint64_t start_ns, uint64_t end_ns, const struct code_place **ret)
{
	const struct code_place *last = NULL;
	uint64_t low = address & LOW_MASK;
	size_t processes = 0, i;

	if (!c->places.count || (c->changed && !make_index(c)))
		return 0;
	i = search_first(n, 0, c->index.count, c->index.items[n].low > low);
	for (; i && c->index.items[i - 1].reach > low; i--) {
		const struct code_place *p = &c->places.items[c->index.items[i - 1].place];

		if (p->device != device || p->from_ns > end_ns || p->until_ns < start_ns ||
			!has(p, address, mask))
			continue;
		processes += !last || last->process != p->process;
		if (!last || p->until_ns > last->until_ns)
			last = p;
	}
	*ret = last;
	return processes;
}

size_t code_places_count(const struct code_places *c)
{
	return c->places.count;
}

void code_places_forget(struct code_places *c, uint64_t before_ns)
{
	size_t kept = 0;

	vec_foreach (p, &c->places)
		if (p->until_ns >= before_ns)
			c->places.items[kept++] = *p;
	c->changed |= kept != c->places.count;
	c->places.count = kept;
}
