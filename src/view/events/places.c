// SPDX-License-Identifier: MIT
#include "view/events/places.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* Each of 32 bytes; memory is only for those in use. */
#define SLOTS ((size_t)1 << 17)

struct place_slot {
	struct gather_key key;
	uint32_t node; /* TREE_ROOT_NODE: free */
};

int event_places_init(
	struct event_places *p, const struct profile_reader *r, const struct view_options *o)
{
	int error;

	*p = (struct event_places){.slots = calloc(SLOTS, sizeof(*p->slots))};
	error = p->slots ? tree_new(&p->tree) : error_memory("the stacks of events");
	return error ?: event_nodes_init(&p->nodes, r, o, p->tree);
}

void event_places_release(struct event_places *p)
{
	event_nodes_release(&p->nodes);
	tree_free(p->tree);
	free(p->slots);
	*p = (struct event_places){0};
}

int event_places_find(struct event_places *p, const struct profile_event *e, uint32_t *ret_node)
{
	struct gather_key key = event_key(e, p->nodes.options);
	struct place_slot *slot = &p->slots[gather_hash(&key) % SLOTS];
	uint32_t node = TREE_ROOT_NODE;
	int error;

	if (slot->node != TREE_ROOT_NODE && !memcmp(&slot->key, &key, sizeof(key))) {
		*ret_node = slot->node;
		return 0;
	}
	error = event_nodes_add(&p->nodes, &key, &node);
	if (error)
		return error;
	*slot = (struct place_slot){key, node};
	*ret_node = node;
	return 0;
}
