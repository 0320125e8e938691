// SPDX-License-Identifier: MIT
#include "correlate/instances.h"

#include <errno.h>
#include <stdlib.h>

void instances_release(struct instances *in)
{
	vec_foreach (instance, &in->items) {
		map_release(&instance->nodes);
		forgotten_release(&instance->forgotten);
	}
	vec_release(&in->items);
	map_release(&in->by_number);
	free(in->destroyed);
	*in = (struct instances){0};
}

static struct instance *find(const struct instances *in, uint32_t number)
{
	const uint64_t *item = map_get(&in->by_number, number);

	return item ? &in->items.items[*item] : NULL;
}

/* A free item, or one more; NULL when there are too many or memory is short. */
static struct instance *free_item(struct instances *in)
{
	if (in->by_number.count < in->items.count)
		vec_foreach (instance, &in->items)
			if (!instance->number)
				return instance;
	if (vec_push(&in->items, (struct instance){0}))
		return NULL;
	return &in->items.items[in->items.count - 1];
}

/* *ret is NULL when there are too many. Number 0 is nobody's. */
static int find_or_add(struct instances *in, uint32_t number, struct instance **ret)
{
	struct instance *instance = find(in, number);

	if (!instance && number && in->by_number.count < INSTANCES_MAX) {
		instance = free_item(in);
		if (!instance ||
			map_put(&in->by_number, number, (uint64_t)(instance - in->items.items)))
			return -ENOMEM;
		*instance = (struct instance){.number = number};
	}
	*ret = instance;
	return 0;
}

void instances_end(struct instances *in, uint32_t number)
{
	struct instance *instance = find(in, number);

	if (!instance)
		return;
	in->node_count -= instance->nodes.count;
	in->window_count -= instance->forgotten.window != NULL;
	map_release(&instance->nodes);
	forgotten_release(&instance->forgotten);
	*instance = (struct instance){0};
	map_remove(&in->by_number, number, NULL);
}

int instances_forget_launch(struct instances *in, uint32_t number, uint32_t correlation)
{
	struct instance *i;
	int error = find_or_add(in, number, &i);

	if (error || !i)
		return error;
	if (!i->forgotten.window && in->window_count == FORGOTTEN_MAX)
		return 0;
	in->window_count += !i->forgotten.window;
	return forgotten_add(&i->forgotten, correlation);
}

bool instances_has_forgotten(const struct instances *in, uint32_t number, uint32_t correlation)
{
	const struct instance *i = find(in, number);

	return i && forgotten_has(&i->forgotten, correlation);
}

static void remove_node(struct instances *in, struct instance *instance, uint64_t node)
{
	if (map_remove(&instance->nodes, node, NULL))
		in->node_count--;
}

/* Forgets the node that was destroyed first, unless its id has come to new life since. */
static void forget_destroyed(struct instances *in)
{
	struct destroyed_node *d = &in->destroyed[in->destroyed_first];
	struct instance *instance = find(in, d->instance);
	const uint64_t *value = instance ? map_get(&instance->nodes, d->node) : NULL;

	if (value && *value >> 32 == d->serial)
		remove_node(in, instance, d->node);
	in->destroyed_first = (in->destroyed_first + 1) % DESTROYED_MAX;
	in->destroyed_count--;
}

int instances_put_node(
	struct instances *in, uint32_t number, uint64_t node, uint32_t stack, bool *ret_kept)
{
	struct instance *instance;
	uint64_t value;
	int error = find_or_add(in, number, &instance);

	if (error)
		return error;
	*ret_kept = !stack;
	if (!instance)
		return 0;
	remove_node(in, instance, node);
	if (!stack)
		return 0;
	while (in->node_count >= NODES_MAX && in->destroyed_count)
		forget_destroyed(in);
	if (in->node_count >= NODES_MAX)
		return 0;
	value = stack | (uint64_t)++in->serial << 32;
	error = map_put(&instance->nodes, node, value);
	if (error)
		return error;
	in->node_count++;
	*ret_kept = true;
	return 0;
}

int instances_destroy_node(struct instances *in, uint32_t number, uint64_t node)
{
	const struct instance *instance = find(in, number);
	const uint64_t *value = instance ? map_get(&instance->nodes, node) : NULL;
	size_t last;

	if (!value)
		return 0;
	if (!in->destroyed)
		in->destroyed = malloc(DESTROYED_MAX * sizeof(*in->destroyed));
	if (!in->destroyed)
		return -ENOMEM;
	if (in->destroyed_count == DESTROYED_MAX)
		forget_destroyed(in);
	last = (in->destroyed_first + in->destroyed_count++) % DESTROYED_MAX;
	in->destroyed[last] = (struct destroyed_node){
		.node = node,
		.instance = number,
		.serial = (uint32_t)(*value >> 32),
	};
	return 0;
}

uint32_t instances_node_stack(const struct instances *in, uint32_t number, uint64_t node)
{
	const struct instance *instance = find(in, number);
	const uint64_t *value = instance ? map_get(&instance->nodes, node) : NULL;

	return value ? (uint32_t)*value : 0;
}
