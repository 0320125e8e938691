// SPDX-License-Identifier: MIT
/*
 * A call counts once, or as often as it stands for, where calls were recorded in bursts. Those are
 * no whole numbers, and only sums are rounded.
 */
#include "view/calls.h"

#include "view/fold/event_nodes.h"
#include "view/fold/gather.h"
#include "view/fold/slice_sums.h"

#define PARTS 1000 /* of a call, which sums have while they are made */

static int gather_call(
	struct gather *sums, const struct profile_event *e, const struct view_options *o)
{
	struct gather_key key = event_key(e, o);

	return gather_add(sums, &key, profile_weighed(PARTS, e->call.weight));
}

struct counting {
	struct gather sums;
	const struct view_options *options;
	bool any;
};

/* Of a slice: there are none of bursts. */
static int gather_sum(void *counting, const struct gather_sum *sum)
{
	struct counting *c = counting;
	struct gather_key key = event_key_for(&sum->key, c->options);

	if (key.event != EVENT_CALL)
		return 0;
	c->any = true;
	return gather_add(&c->sums, &key, PARTS * sum->count);
}

static int build_tree(const struct profile_reader *r, const struct view_options *o,
	struct gather *sums, struct view_result *ret)
{
	const struct gather_sum *sum;
	struct event_nodes nodes;
	size_t n = 0;
	int error = event_nodes_init(&nodes, r, o, ret->tree);

	error = error ?: gather_sort(sums);
	while (!error && (sum = gather_next(sums, &n))) {
		uint32_t node = 0;

		error = event_nodes_add(&nodes, &sum->key, &node);
		error = error ?: tree_add_time(ret->tree, node, (sum->time_ns + PARTS / 2) / PARTS);
	}
	event_nodes_release(&nodes);
	return error;
}

int calls_build(struct profile_reader *r, const struct view_options *o, struct view_result *ret)
{
	struct counting c = {.options = o};
	struct profile_event e;
	struct slice_part part;
	int more, error = 0;

	ret->unit = VIEW_COUNT;
	view_one_time(ret, "calls");
	slice_part_begin(&part, o->sums && !o->sums->callless ? o->sums : NULL, r);
	part.events = (uint64_t)1 << EVENT_CALL;
	while (!error && (more = profile_reader_next(r, &e))) {
		if (more < 0)
			error = more;
		else if (e.kind == EVENT_CALL && e.call.kind != CALL_SYNC && !e.call.cut.continued)
			error = gather_call(&c.sums, &e, o);
		c.any |= more > 0 && e.kind == EVENT_CALL;
	}
	error = error ?: slice_part_each(&part, gather_sum, &c);
	error = error ?: build_tree(r, o, &c.sums, ret);
	if (!error && profile_is_in_bursts(r))
		error = view_remark(
			ret, "calls were recorded in bursts: their numbers are estimates");
	if (!c.any) {
		ret->lacking = "calls of a GPU API";
		ret->help = "record a program that uses a GPU";
	}
	gather_release(&c.sums);
	return error;
}
