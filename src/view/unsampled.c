// SPDX-License-Identifier: MIT
#include "view/unsampled.h"

#include <string.h>

#include "view/flame.h"
#include "view/fold/slice_sums.h"
#include "view/stalls/flame.h"

#define NOTE "[not sampled]"

static bool has_samples(const struct view_options *o)
{
	if (profile_window(o->range.known->done, 1))
		return true;
	vec_foreach (rest, &o->sums->all.keys.rests.items)
		if (rest->event == EVENT_STALL)
			return true;
	return false;
}

/* In bursts it is not known how many there were. */
static bool is_unsampled(const struct profile_reader *r, const struct view_options *o)
{
	const struct profile_clip *clip = profile_reader_clip_of(r);

	return o->sums && o->codes && o->range.known && o->weight == VIEW_WEIGHT_TIME &&
	       (!clip || clip->span_count == 1) && !has_samples(o);
}

static bool is_kernel(const struct profile_reader *r, const struct gather_key *rest)
{
	const struct profile_op *op = rest->event == EVENT_WORK ? profile_op(r, rest->op) : NULL;

	return op && op->kind == OP_KERNEL;
}

/* What is left out of GPU work is of kernels, where there are any. */
static bool has_kernels(
	const struct profile_reader *r, const struct view_options *o, const struct tree *t)
{
	bool any = false;

	vec_foreach (rest, &o->sums->all.keys.rests.items)
		any = any || is_kernel(r, rest);
	for (size_t n = 1; any && n < tree_node_count(t); n++) {
		const struct tree_node *node = &tree_nodes(t)[n];
		enum tree_kind kind = tree_frames(t)[node->frame].kind;

		if ((kind == TREE_GPU_KERNEL || kind == TREE_LEFT_OUT_GPU) &&
			tree_self(t, (uint32_t)n))
			return true;
	}
	return false;
}

/* All of the time of kernels. */
static int add_notes(
	const struct profile_reader *r, const struct view_options *o, struct view_result *ret)
{
	uint32_t note;
	int error;

	if (!has_kernels(r, o, ret->tree))
		return 0;
	error = view_share(ret, "not sampled", 1, 1);
	error = error ?: tree_add_frame(ret->tree, TREE_NOTE, 0, NOTE, strlen(NOTE), &note);
	return error ?: tree_raise(ret->tree, TREE_GPU_KERNEL, note);
}

static int build_unsampled(
	struct profile_reader *r, const struct view_options *o, struct view_result *ret)
{
	int error = stall_flame_describe_none(o->range.known->done, ret);
	const char *lacking = ret->lacking, *help = ret->help;

	error = error ?: flame_build(r, o, ret);
	ret->lacking = lacking;
	ret->help = help;
	return error ?: add_notes(r, o, ret);
}

int stall_build(struct profile_reader *r, const struct view_options *o, struct view_result *ret)
{
	return is_unsampled(r, o) ? build_unsampled(r, o, ret) : stall_flame_build(r, o, ret);
}
