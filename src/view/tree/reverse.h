/* SPDX-License-Identifier: MIT */
/*
 * A tree turned round: the same times on the same paths, each from its leaf to the root. Equal
 * leaves become one: next to the root is what most of the time was spent in, and above that what
 * led there.
 *
 * There may be as many nodes in it as all paths of the tree are long together. So a tree that is
 * to have fewer has only those with most of the time made, from the root on: where all that stands
 * on a node is too little, no more of it is looked at.
 */
#pragma once

#include "view/tree/tree.h"

struct tree_reversed {
	struct tree *tree;
	uint64_t least;	   /* nodes with less time were left out; 1: none were */
	uint64_t left_out; /* how many, at least */
};

/*
 * Allocates the tree. Nodes without time of their own or above them are left out. If `node_max` is
 * not 0 and there would be more nodes, it is as if tree_leave_out had been called, with the least
 * power of two that leaves no more. Not to be added to with tree_add_texts. 0 or -errno with
 * error_text.
 */
int tree_reverse(const struct tree *t, size_t node_max, struct tree_reversed *ret);
