// SPDX-License-Identifier: MIT
#include "view/fold/code_tree.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/large.h"
#include "base/order.h"
#include "view/fold/event_nodes.h"

#define SUBJECT "the tree of all stacks"
#define AHEAD	16 /* codes, which are asked for */

void code_tree_release(struct code_tree *t)
{
	tree_free(t->frames);
	free(t->nodes);
	free(t->leaves);
	*t = (struct code_tree){0};
}

/* Of the options those that decide which frames a code has. */
static bool is_made_for(const struct code_tree *t, const struct view_options *o, size_t codes)
{
	const struct view_options *made = &t->made_for;

	return t->frames && t->leaf_count == codes && made->graph_stack == o->graph_stack &&
	       made->api_frames == o->api_frames && made->inlines == o->inlines &&
	       made->native_python == o->native_python && made->lines == o->lines &&
	       made->brief_waits == o->brief_waits;
}

/* Stacks whose numbers are near to each other have most of their frames in common: in this order,
 * what was looked up for one is still in the cache for the next. */
static int order_codes(struct order *order, const struct keys *codes)
{
	int error = order_init(order, codes->items.count);

	if (error)
		return error;
	for (size_t n = 0; n < codes->items.count; n++)
		order->numbers[n] = codes->items.items[n].stack;
	order_sort(order);
	return 0;
}

static int add_code(
	struct code_tree *t, struct event_nodes *nodes, const struct keys *codes, uint32_t code)
{
	const struct gather_key key = event_key_for(&codes->items.items[code], nodes->options);

	/* samples of instructions have none */
	return key.event == EVENT_STALL ? 0 : event_nodes_add_code(nodes, &key, &t->leaves[code]);
}

static int add_codes(struct code_tree *t, struct event_nodes *nodes, const struct keys *codes)
{
	struct order order = {0};
	int error = order_codes(&order, codes);

	for (size_t n = 0; !error && n < codes->items.count; n++) {
		if (n + AHEAD < codes->items.count)
			__builtin_prefetch(&codes->items.items[order.items[n + AHEAD]]);
		error = add_code(t, nodes, codes, order.items[n]);
	}
	order_release(&order);
	return error;
}

int code_tree_make(struct code_tree *t, const struct profile_reader *r,
	const struct view_options *o, const struct keys *codes)
{
	struct event_nodes nodes;
	int error;

	if (is_made_for(t, o, codes->items.count))
		return 0;
	code_tree_release(t);
	t->made_for = *o;
	t->leaf_count = codes->items.count;
	t->leaves = calloc(t->leaf_count + 1, sizeof(*t->leaves));
	error = t->leaves ? tree_new(&t->frames) : error_memory(SUBJECT);
	if (error) {
		code_tree_release(t);
		return error;
	}
	error = event_nodes_init(&nodes, r, &t->made_for, t->frames);
	error = error ?: add_codes(t, &nodes, codes);
	event_nodes_release(&nodes);
	if (error)
		code_tree_release(t);
	else
		tree_take_nodes(t->frames, &t->nodes, &t->node_count);
	return error;
}
