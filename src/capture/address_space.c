// SPDX-License-Identifier: MIT
/*
 * Adding is rare and finding is frequent, so it is a plain sorted array. An addition computes which
 * old mappings it touches, [first, last), keeps the parts of these that stick out, and puts
 * all of them in order with one move:
 *
 *	 old:  |--a--|   |---b---| |-c-|     |--d--|
 *	 new:               |----------|
 *	       |--a--|   |b'|---new----|     |--d--|
 */
#include "capture/address_space.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"

struct address_space *address_space_new(struct address_spaces *all)
{
	struct address_space *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->all = all;
	s->references = 1;
	s->generation = s->image_generation = ++all->generations;
	return s;
}

struct address_space *address_space_ref(struct address_space *s)
{
	s->references++;
	return s;
}

void address_space_unref(struct address_space *s)
{
	if (!s || --s->references)
		return;
	s->all->mappings -= s->mappings.count;
	vec_release(&s->mappings);
	free(s);
}

static struct address_space *copy_space(const struct address_space *s)
{
	struct address_space *copy = address_space_new(s->all);

	if (!copy)
		return NULL;
	if (vec_reserve(&copy->mappings, s->mappings.count + 3) < 0) {
		address_space_unref(copy);
		return NULL;
	}
	if (s->mappings.count)
		memcpy(copy->mappings.items, s->mappings.items,
			s->mappings.count * sizeof(*s->mappings.items));
	copy->mappings.count = s->mappings.count;
	copy->all->mappings += s->mappings.count;
	copy->image_generation = s->image_generation;
	copy->changes = s->changes;
	copy->replaced = s->replaced;
	return copy;
}

/* The index of the first mapping that ends behind `address`. */
static size_t first_behind(const struct address_space *s, uint64_t address)
{
	return search_first(i, 0, s->mappings.count, s->mappings.items[i].end > address);
}

const struct mapping *address_space_find(const struct address_space *s, uint64_t address)
{
	size_t i = first_behind(s, address);

	if (i == s->mappings.count || s->mappings.items[i].start > address)
		return NULL;
	return &s->mappings.items[i];
}

/* Generations are counted up and far from 2^31 apart. */
static bool is_earlier(uint32_t generation, uint64_t than)
{
	return (int32_t)(generation - (uint32_t)than) < 0;
}

bool address_space_outdated(
	const struct address_space *s, const struct mapping *m, uint32_t generation)
{
	return is_earlier(generation, s->image_generation) ||
	       (m && m->since && is_earlier(generation, m->since));
}

/* Whether every address of `m` is already mapped to the same. */
static bool already_there(const struct address_space *s, const struct mapping *m)
{
	const struct mapping *old = address_space_find(s, m->start);

	return old && old->end >= m->end && old->base == m->base && old->module == m->module;
}

/* Whether `m` continues a neighbour of the same code: memory that grows piece by piece stays one
 * mapping. */
static bool continues(const struct mapping *a, const struct mapping *b)
{
	return a->end == b->start && a->base == b->base && a->module == b->module && !a->since;
}

/* Replaces the `count` mappings from index `at` by `pieces`. Room has been reserved. */
static void splice(struct address_space *s, size_t at, size_t count, const struct mapping *pieces,
	size_t piece_count)
{
	struct mapping *items = s->mappings.items;

	memmove(items + at + piece_count, items + at + count,
		(s->mappings.count - at - count) * sizeof(*items));
	memcpy(items + at, pieces, piece_count * sizeof(*items));
	s->mappings.count += piece_count - count;
	s->all->mappings += piece_count;
	s->all->mappings -= count;
}

static void insert(struct address_space *s, struct mapping m)
{
	size_t first = first_behind(s, m.start), last = first, count = 0;
	const struct mapping *items = s->mappings.items;
	struct mapping pieces[3];

	while (last < s->mappings.count && items[last].start < m.end)
		last++;
	if (last > first) {
		m.since = s->generation = ++s->all->generations;
		s->replaced++;
		if (items[first].start < m.start) {
			pieces[count] = items[first];
			pieces[count++].end = m.start;
		}
	} else if (first && continues(&items[first - 1], &m)) {
		m.start = items[--first].start;
	}
	pieces[count++] = m;
	if (last > first && items[last - 1].end > m.end) {
		pieces[count] = items[last - 1];
		pieces[count++].start = m.end;
	}
	splice(s, first, last - first, pieces, count);
	s->changes++;
}

/* For two more, and for all of those that have to be copied first. */
static bool has_room(const struct address_space *s)
{
	uint64_t most = s->all->most ? s->all->most : MAPPINGS_MAX_IN_ALL;
	size_t count = s->mappings.count + 2;

	if (count <= MAPPINGS_SMALL)
		return true;
	return count <= MAPPINGS_MAX && s->all->mappings + (s->references > 1 ? count : 2) <= most;
}

int address_space_add(struct address_space **space, const struct mapping *m)
{
	struct address_space *s = *space;

	if (m->end <= m->start || already_there(s, m))
		return 0;
	if (!has_room(s))
		return -ENOSPC;
	if (s->references > 1) {
		s = copy_space(s);
		if (!s)
			return -ENOMEM;
	} else if (vec_reserve(&s->mappings, 2) < 0) {
		return -ENOMEM;
	}
	insert(s, *m);
	if (s != *space) {
		address_space_unref(*space);
		*space = s;
	}
	return 0;
}
