/* SPDX-License-Identifier: MIT */
/*
 * The rows of a launch (stalls.h) as frames above its kernel: source, instruction, reason, offset
 * (gpu_stacks.h).
 *
 * Owned by the caller; holds on to the stalls, which are finished, and the tree.
 */
#pragma once

#include "view/stalls/gpu_stacks.h"
#include "view/stalls/stalls.h"

struct stall_tree {
	struct tree *tree;
	struct gpu_stacks gpu;
	uint32_t *reason_frames;      /* by reason */
	bool offsets;		      /* show them */
	uint32_t kernel, instruction; /* of the row added last: its path need not be walked again */
	uint32_t node, offset;
};

/* All: 0 or -errno with error_text; release it in either case. */
int stall_tree_init(struct stall_tree *s, const struct stalls *stalls, struct tree *t,
	const struct view_options *o);
/* The path of a row on the node of its kernel. Rows of one instruction should come one
 * after the other. */
int stall_tree_find(
	struct stall_tree *s, uint32_t kernel, const struct stalls_row *row, uint32_t *ret_node);
/* The same, and adds time to it. */
int stall_tree_add(
	struct stall_tree *s, uint32_t kernel, const struct stalls_row *row, uint64_t time);
void stall_tree_release(struct stall_tree *s);
