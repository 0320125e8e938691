/* SPDX-License-Identifier: MIT */
/* Trees in tests: made frame by frame, and as text. */
#pragma once

#include "base/buf.h"
#include "tap.h"
#include "view/tree/tree.h"

static inline struct tree *new_tree(void)
{
	struct tree *t = NULL;

	CHECK(!tree_new(&t));
	return t;
}

static inline uint32_t child(
	struct tree *t, uint32_t parent, enum tree_kind kind, uint32_t number, const char *name)
{
	uint32_t frame = 0, node = 0;

	CHECK(!tree_add_frame(t, kind, number, name, strlen(name), &frame));
	CHECK(!tree_add_child(t, parent, frame, &node));
	return node;
}

/* A line for each node with time. */
static inline void write_tree(struct tree *t, struct buf *text)
{
	struct tree_totals totals;
	struct tree_walk w;

	CHECK(!tree_sort(t) && !tree_totals_init(&totals, t));
	w = tree_walk_begin(t);
	while (tree_walk_next(&w)) {
		const struct tree_frame *f = &tree_frames(t)[tree_nodes(t)[w.node].frame];
		struct tree_time own = tree_totals_of(&totals, w.node);

		w.skip_children = !(own.cpu + own.gpu);
		if (!w.skip_children)
			buf_printf(text, "%u %d %u %s %llu %llu %llu %llu\n", w.depth, f->kind,
				f->number, f->name, (unsigned long long)own.cpu,
				(unsigned long long)own.gpu, (unsigned long long)own.samples,
				(unsigned long long)tree_self(t, w.node));
	}
	tree_totals_release(&totals);
	CHECK(!text->failed);
}
