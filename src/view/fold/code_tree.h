/* SPDX-License-Identifier: MIT */
/*
 * The code of all events of a recording as one tree, in 8 bytes a node: for those who add up many
 * stacks again and again. Threads, processes and work are not in it (event_nodes.h: base, top).
 *
 *	node	0 is the root; a node's number is greater than its parent's
 *	leaf	the node of a code (keys.h)
 *
 * Owned by the caller.
 */
#pragma once

#include "profile/reader.h"
#include "view/fold/keys.h"
#include "view/fold/options.h"
#include "view/tree/tree.h"

struct code_tree {
	struct tree *frames; /* has no nodes */
	struct tree_path_node *nodes;
	uint32_t node_count;
	uint32_t *leaves; /* by code */
	size_t leaf_count;
	struct view_options made_for;
};

void code_tree_release(struct code_tree *t);
/* Comes zeroed, or as it was left for other options. `r` was read to its end. 0 or -errno with
 * error_text. */
int code_tree_make(struct code_tree *t, const struct profile_reader *r,
	const struct view_options *o, const struct keys *codes);
