// SPDX-License-Identifier: MIT
/*
 * Places in the order in which they came, and an index of them by device and the low 32 bits of
 * their addresses, which is made anew for the first question after a change. Each entry of it knows
 * how far those before it on its device reach, so a search goes back only as far as one may cover
 * the address. A place that is as large as may be makes it go past all that others have in there,
 * so each instance's are limited.
 */
#include "gpu/code_places.h"

#include <errno.h>
#include <stdlib.h>

#include "base/search.h"
#include "base/vec.h"

#define LOW_MASK 0xffffffffull
#define ALIVE	 UINT64_MAX

struct entry {
	uint64_t low;	/* of the address */
	uint64_t reach; /* the highest end of this and all before of its device */
	uint32_t device;
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

static size_t count_of(const struct code_places *c, uint32_t instance)
{
	size_t count = 0;

	vec_foreach (p, &c->places)
		count += p->instance == instance;
	return count;
}

int code_places_add(struct code_places *c, const struct code_place *place)
{
	struct code_place new = *place;

	/* The hardware has code in areas of 4 GiB, none of which it crosses. */
	if (!new.size || new.size > CODE_PLACE_MAX_BYTES ||
		new.size > LOW_MASK + 1 - (new.address &LOW_MASK))
		return -EINVAL;
	new.until_ns = ALIVE;
	end_below(c, &new);
	if (c->places.count >= CODE_PLACES_MAX ||
		count_of(c, new.instance) >= CODE_PLACES_INSTANCE_MAX)
		return -ENOSPC;
	c->changed = true;
	return vec_push(&c->places, new);
}

void code_places_end(struct code_places *c, uint32_t instance, uint32_t device, uint64_t address,
	uint64_t time_ns)
{
	vec_foreach (p, &c->places)
		if (p->until_ns == ALIVE && p->instance == instance && p->device == device &&
			p->address == address)
			p->until_ns = time_ns;
}

void code_places_end_all(struct code_places *c, uint32_t instance, uint64_t time_ns)
{
	vec_foreach (p, &c->places)
		if (p->until_ns == ALIVE && p->instance == instance)
			p->until_ns = time_ns;
}

static int compare_entries(const void *a_, const void *b_)
{
	const struct entry *a = a_, *b = b_;

	if (a->device != b->device)
		return a->device < b->device ? -1 : 1;
	if (a->low != b->low)
		return a->low < b->low ? -1 : 1;
	return a->place < b->place ? -1 : a->place > b->place;
}

/* False when memory is short: then nothing is found. */
static bool make_index(struct code_places *c)
{
	const struct entry *before = NULL;

	c->index.count = 0;
	if (vec_reserve(&c->index, c->places.count))
		return false;
	for (uint32_t i = 0; i < c->places.count; i++) {
		const struct code_place *p = &c->places.items[i];

		c->index.items[i] = (struct entry){
			.low = p->address & LOW_MASK, .device = p->device, .place = i};
	}
	c->index.count = c->places.count;
	qsort(c->index.items, c->index.count, sizeof(*c->index.items), compare_entries);
	vec_foreach (e, &c->index) {
		e->reach = e->low + c->places.items[e->place].size;
		if (before && before->device == e->device && before->reach > e->reach)
			e->reach = before->reach;
		before = e;
	}
	c->changed = false;
	return true;
}

static bool is_behind(const struct entry *e, uint32_t device, uint64_t low)
{
	return e->device > device || (e->device == device && e->low > low);
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
	i = search_first(n, 0, c->index.count, is_behind(&c->index.items[n], device, low));
	for (; i; i--) {
		const struct entry *e = &c->index.items[i - 1];
		const struct code_place *p = &c->places.items[e->place];

		if (e->device != device || e->reach <= low)
			break;
		if (p->from_ns > end_ns || p->until_ns < start_ns || !has(p, address, mask))
			continue;
		processes += !last || last->process != p->process;
		if (!last || p->until_ns > last->until_ns)
			last = p;
	}
	*ret = last;
	return processes;
}

bool code_places_has(struct code_places *c, const struct code_place *place)
{
	uint64_t low = place->address & LOW_MASK;
	size_t i;

	if (!c->places.count || (c->changed && !make_index(c)))
		return false;
	i = search_first(n, 0, c->index.count, is_behind(&c->index.items[n], place->device, low));
	for (; i; i--) {
		const struct entry *e = &c->index.items[i - 1];
		const struct code_place *p = &c->places.items[e->place];

		if (e->device != place->device || e->low != low)
			break;
		if (p->until_ns == ALIVE && p->instance == place->instance &&
			p->address == place->address && p->function == place->function)
			return true;
	}
	return false;
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
