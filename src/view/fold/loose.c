// SPDX-License-Identifier: MIT
#include "view/fold/loose.h"

#include <stdlib.h>

#include "base/error.h"
#include "view/fold/event_nodes.h"

#define SUMS_MAX 8 /* of a code, on average */
#define TOP_MAX	 8 /* frames above the code: device, stream, what runs there */

/* What stands on the code, by the rest of a key. */
struct top {
	uint32_t frames[TOP_MAX]; /* of the result, from the code on */
	uint32_t count;
	bool sampled;
};

struct loose {
	const struct fold *f;
	struct tree *tree;
	struct top *tops;
	uint32_t code; /* the number of a code's node in the result, less that in its tree */
};

bool loose_fits(const struct fold *f)
{
	size_t sums = f->more.used;

	if (!f->options->loose || f->options->node_max ||
		f->options->by & (VIEW_BY_PROCESS | VIEW_BY_THREAD))
		return false;
	for (uint32_t i = 0; i < f->slice_count; i++)
		sums += f->slices[i].sums.count;
	return sums <= SUMS_MAX * (f->codes->leaf_count + 1);
}

static int add_frame(struct loose *x, const struct tree *from, uint32_t frame, uint32_t *ret)
{
	const struct tree_frame *f = &tree_frames(from)[frame];

	return tree_add_frame(x->tree, f->kind, f->number, f->name, f->size, ret);
}

/* The nodes of a tree of tops, from the last to the root, and turned round. */
static int keep_top(struct loose *x, const struct tree *tops, uint32_t node, struct top *ret)
{
	int error = 0;

	for (; !error && node; node = tree_nodes(tops)[node].parent) {
		if (ret->count == TOP_MAX)
			return error_set(-EOVERFLOW, "too many frames stand on the code");
		error = add_frame(x, tops, tree_nodes(tops)[node].frame, &ret->frames[ret->count]);
		ret->count += !error;
	}
	for (uint32_t n = 0; n < ret->count / 2; n++) {
		uint32_t frame = ret->frames[n];

		ret->frames[n] = ret->frames[ret->count - 1 - n];
		ret->frames[ret->count - 1 - n] = frame;
	}
	return error;
}

static int add_top(struct loose *x, struct event_nodes *nodes, struct tree *tops, size_t rest)
{
	const struct gather_key key =
		event_key_for(&x->f->keys->rests.items.items[rest], x->f->options);
	uint32_t node = TREE_ROOT_NODE;
	int error = event_nodes_add_top(nodes, &key, &node);

	x->tops[rest].sampled = key.event == EVENT_SAMPLE && key.reason == SAMPLE_SEEN;
	return error ?: keep_top(x, tops, node, &x->tops[rest]);
}

static int add_tops(struct loose *x)
{
	size_t count = x->f->keys->rests.items.count;
	struct event_nodes nodes = {0};
	struct tree *tops = NULL;
	int error;

	x->tops = calloc(count + 1, sizeof(*x->tops));
	error = x->tops ? tree_new(&tops) : error_memory("the flame graph");
	if (error)
		return error;
	error = event_nodes_init(&nodes, x->f->reader, x->f->options, tops);
	for (size_t rest = 0; !error && rest < count; rest++)
		if (x->f->shown[rest])
			error = add_top(x, &nodes, tops, rest);
	event_nodes_release(&nodes);
	tree_free(tops);
	return error;
}

static uint32_t node_of(const struct loose *x, uint32_t code_node)
{
	return code_node ? code_node + x->code : TREE_ROOT_NODE;
}

/* In their order. */
static int add_code(struct loose *x)
{
	const struct code_tree *t = x->f->codes;
	uint32_t *frames = calloc(tree_frame_count(t->frames), sizeof(*frames)), node;
	int error = frames ? 0 : error_memory("the flame graph");

	for (uint32_t n = 0; !error && n < tree_frame_count(t->frames); n++)
		error = add_frame(x, t->frames, n, &frames[n]);
	x->code = (uint32_t)tree_node_count(x->tree) - 1;
	for (uint32_t n = 1; !error && n < t->node_count; n++)
		error = tree_add_loose(
			x->tree, node_of(x, t->nodes[n].parent), frames[t->nodes[n].frame], &node);
	free(frames);
	return error;
}

static int add_sum(struct loose *x, struct event_pair pair, uint64_t time_ns, uint64_t count)
{
	const struct top *top = &x->tops[pair.rest];
	uint32_t node = node_of(x, x->f->codes->leaves[pair.code]);
	int error = 0;

	if (!x->f->shown[pair.rest] || !time_ns)
		return 0;
	for (uint32_t n = 0; !error && n < top->count; n++)
		error = tree_add_loose(x->tree, node, top->frames[n], &node);
	error = error ?: tree_add_time(x->tree, node, time_ns);
	return error || !top->sampled ? error : tree_add_samples(x->tree, node, count);
}

static int add_sums(struct loose *x)
{
	const struct pair_sum *more;
	size_t n = 0;
	int error = 0;

	for (uint32_t i = 0; !error && i < x->f->slice_count; i++)
		vec_foreach (sum, &x->f->slices[i].sums)
			error = error ?: add_sum(x, sum->pair, sum->time_ns, sum->count);
	while (!error && (more = pair_sums_next(&x->f->more, &n)))
		error = add_sum(x, (struct event_pair){more->first, more->second}, more->time_ns,
			more->count);
	return error;
}

int loose_add(const struct fold *f, struct view_result *ret)
{
	struct loose x = {.f = f, .tree = ret->tree};
	int error = add_tops(&x);

	error = error ?: add_code(&x);
	error = error ?: add_sums(&x);
	free(x.tops);
	return error;
}
