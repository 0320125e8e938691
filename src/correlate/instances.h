/* SPDX-License-Identifier: MIT */
/*
 * What the correlator remembers of each instance beside its launches: which correlation ids it has
 * had to forget, and the stacks at which the nodes of its graphs were made.
 *
 * A destroyed node is kept for a while, as records of its last runs are still on their way; how
 * long depends on how many more are destroyed. Memory is bounded whatever a program does: NODES_MAX
 * nodes, INSTANCES_MAX instances; FORGOTTEN_MAX of those that had to forget launches take
 * FORGOTTEN_WINDOW bits more, and the launches of others count as never seen. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"
#include "correlate/forgotten.h"

#define NODES_MAX     ((size_t)512 << 10) /* at once, of all instances */
#define DESTROYED_MAX ((size_t)256 << 10) /* of these, destroyed ones */
#define INSTANCES_MAX ((size_t)64 << 10)
#define FORGOTTEN_MAX 256u /* 32 MiB */

struct instance {
	uint32_t number;
	struct forgotten forgotten;
	struct map nodes; /* node -> stack | serial << 32 */
};

struct destroyed_node {
	uint64_t node;
	uint32_t instance;
	uint32_t serial; /* the node must still have it: ids of nodes may be reused */
};

struct instances {
	struct vec(struct instance) items; /* those with number 0 are free */
	struct map by_number;		   /* number -> index in items */
	size_t node_count;
	size_t window_count; /* instances with a window of forgotten launches */
	uint32_t serial;
	struct destroyed_node
		*destroyed; /* a ring of DESTROYED_MAX, from the first destruction on */
	size_t destroyed_first, destroyed_count;
};

void instances_release(struct instances *in);
/* Forgets all about one. */
void instances_end(struct instances *in, uint32_t number);

/* A launch with this id was forgotten. 0 or -ENOMEM. */
int instances_forget_launch(struct instances *in, uint32_t number, uint32_t correlation);
/* True when a launch with this id was forgotten. */
bool instances_has_forgotten(const struct instances *in, uint32_t number, uint32_t correlation);

/* A node was made at `stack` (0: not known); *ret_kept false: there is no room. 0 or -ENOMEM. */
int instances_put_node(
	struct instances *in, uint32_t number, uint64_t node, uint32_t stack, bool *ret_kept);
int instances_destroy_node(struct instances *in, uint32_t number, uint64_t node);
/* 0 when it is not known. */
uint32_t instances_node_stack(const struct instances *in, uint32_t number, uint64_t node);
