// SPDX-License-Identifier: MIT
#include "view/events/places.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

#define SLOTS_AT_FIRST ((size_t)1 << 10)

struct place_slot {
	struct gather_key key;
	uint32_t node; /* TREE_ROOT_NODE: free */
};

/* The slot of a key, or the free one where it belongs. */
static struct place_slot *find(const struct event_places *p, const struct gather_key *key)
{
	size_t i = gather_hash(key) & p->mask;

	while (p->slots[i].node != TREE_ROOT_NODE && memcmp(&p->slots[i].key, key, sizeof(*key)))
		i = (i + 1) & p->mask;
	return &p->slots[i];
}

static int grow(struct event_places *p)
{
	struct event_places before = *p;
	size_t count = p->slots ? 2 * (p->mask + 1) : SLOTS_AT_FIRST;

	p->slots = calloc(count, sizeof(*p->slots));
	if (!p->slots) {
		p->slots = before.slots;
		return error_memory("the stacks of events");
	}
	p->mask = count - 1;
	for (size_t i = 0; before.slots && i <= before.mask; i++)
		if (before.slots[i].node != TREE_ROOT_NODE)
			*find(p, &before.slots[i].key) = before.slots[i];
	free(before.slots);
	return 0;
}

int event_places_init(
	struct event_places *p, const struct profile_reader *r, const struct view_options *o)
{
	int error;

	*p = (struct event_places){0};
	error = grow(p);
	error = error ?: tree_new(&p->tree);
	return error ?: event_nodes_init(&p->nodes, r, o, p->tree);
}

void event_places_release(struct event_places *p)
{
	event_nodes_release(&p->nodes);
	tree_free(p->tree);
	free(p->slots);
	*p = (struct event_places){0};
}

static int add(struct event_places *p, const struct gather_key *key, uint32_t *ret_node)
{
	uint32_t node = TREE_ROOT_NODE;
	int error = event_nodes_add(&p->nodes, key, &node);

	if (error)
		return error;
	*ret_node = node;
	if (node == TREE_ROOT_NODE)
		return 0;
	if (p->used * 3 > p->mask * 2)
		error = grow(p);
	if (error)
		return error;
	p->used++;
	*find(p, key) = (struct place_slot){*key, node};
	return 0;
}

int event_places_find(struct event_places *p, const struct profile_event *e, uint32_t *ret_node)
{
	struct gather_key key = event_key(e, p->nodes.options);
	const struct place_slot *slot = find(p, &key);

	if (slot->node == TREE_ROOT_NODE)
		return add(p, &key, ret_node);
	*ret_node = slot->node;
	return 0;
}

void event_places_expect(const struct event_places *p, const struct profile_event *e)
{
	struct gather_key key = event_key(e, p->nodes.options);

	__builtin_prefetch(&p->slots[gather_hash(&key) & p->mask]);
}
