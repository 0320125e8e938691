// SPDX-License-Identifier: MIT
/*
 * A call counts once, or as often as it stands for, where calls were recorded in bursts. Those are
 * no whole numbers, and only sums are rounded.
 *
 * Where sums are kept, calls are in them, or beside them (calls_kept.h). Then those that are alike
 * in what is shown are added up by code, and become a tree as in flame.c.
 */
#include "view/calls.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/large.h"
#include "view/calls_kept.h"
#include "view/fold/event_nodes.h"
#include "view/fold/fold.h"

#define SUBJECT	    "the calls"
#define PARTS	    1000 /* of a call, which sums have while they are made */
#define CELLS_MAX   ((size_t)8 << 20)
#define COLUMNS_MAX 64

struct counting {
	const struct view_options *options;
	struct view_result *result;
	struct gather sums; /* what comes with a key of its own, in parts */
	bool any;
	/* what is kept */
	const struct slice_part *part;
	const struct calls_kept *kept; /* NULL: it is in the sums */
	struct event_keys keys;	       /* borrowed */
	bool *shown;		       /* by rest: the first of those that are alike */
	uint32_t *alike;	       /* by rest: column + 1; 0: not shown */
	struct keys columns;	       /* what is shown of rests */
	struct vec(uint32_t) firsts;   /* by column: rest */
	uint64_t *cells;	       /* by code and column */
	struct slice slice;
	struct fold fold;
};

static void release(struct counting *c)
{
	gather_release(&c->sums);
	free(c->shown);
	free(c->alike);
	keys_release(&c->columns);
	vec_release(&c->firsts);
	free(c->cells);
	vec_release(&c->slice.sums);
	fold_release(&c->fold);
}

static int gather_key(struct counting *c, const struct gather_key *whole, uint64_t parts)
{
	struct gather_key key = event_key_for(whole, c->options);

	c->any = true;
	return gather_add(&c->sums, &key, parts);
}

/* Of an event that no slice has. */
static int gather_call(struct counting *c, const struct profile_event *e)
{
	const struct gather_key whole = event_whole_key(e);
	struct event_pair pair;

	if (!c->alike || !event_keys_find(&c->keys, &whole, &pair) || !c->alike[pair.rest])
		return gather_key(c, &whole, profile_weighed(PARTS, e->call.weight));
	return pair_sums_add(&c->fold.more,
		(struct pair_sum){pair.code, c->firsts.items[c->alike[pair.rest] - 1], 1, 1, 0});
}

/* Of a slice: there are none of bursts. */
static int gather_sum(void *counting, const struct gather_sum *sum)
{
	return sum->key.event == EVENT_CALL ? gather_key(counting, &sum->key, PARTS * sum->count)
					    : 0;
}

/* ------------------------------------------------------------------ what is kept */

/* Rests that are one in what is shown have a column. */
static int find_column(struct counting *c, uint32_t rest)
{
	const struct gather_key key = event_key_for(&c->keys.rests.items.items[rest], c->options);
	uint32_t column = 0;
	int error = keys_add(&c->columns, &key, &column);

	if (error)
		return error;
	c->alike[rest] = column + 1;
	if (column < c->firsts.count)
		return 0;
	if (column >= COLUMNS_MAX || (column + 1) * c->keys.codes.items.count > CELLS_MAX)
		return -E2BIG;
	c->shown[rest] = true;
	return vec_push(&c->firsts, rest) ? error_memory(SUBJECT) : 0;
}

static int find_columns(struct counting *c)
{
	size_t count = c->keys.rests.items.count;
	int error = 0;

	c->shown = calloc(count + 1, sizeof(*c->shown));
	c->alike = calloc(count + 1, sizeof(*c->alike));
	if (!c->shown || !c->alike)
		return error_memory(SUBJECT);
	for (uint32_t rest = 0; !error && rest < count; rest++) {
		const struct gather_key *key = &c->keys.rests.items.items[rest];

		if (key->event == EVENT_CALL && slice_part_has(c->part, key))
			error = find_column(c, rest);
	}
	return error;
}

static void add_cell(struct counting *c, uint32_t code, uint32_t rest, uint64_t count)
{
	if (c->alike[rest])
		c->cells[code * c->firsts.count + c->alike[rest] - 1] += count;
}

static void add_slice(struct counting *c, uint32_t slice)
{
	if (c->kept)
		vec_foreach (calls, &c->kept->slices[slice])
			add_cell(c, calls->code, calls->rest, calls->count);
	else
		vec_foreach (sum, &c->part->sums->items[slice].calls)
			add_cell(c, sum->pair.code, sum->pair.rest, sum->count);
}

static int add_others(struct counting *c)
{
	const struct profile_span *spans = c->part->sums->spans;
	uint64_t from_ns = spans[c->part->first].from_ns, to_ns = spans[c->part->end - 1].to_ns;
	int error = 0;

	vec_foreach (other, &c->kept->others)
		if (!error && other->start_ns >= from_ns && other->start_ns < to_ns &&
			slice_part_has(c->part, &other->key))
			error = gather_key(c, &other->key, PARTS);
	return error;
}

static int list_cells(struct counting *c)
{
	size_t columns = c->firsts.count, cells = c->keys.codes.items.count * columns;
	int error = 0;

	for (size_t n = 0; !error && n < cells; n++) {
		const struct event_sum sum = {
			.pair = {(uint32_t)(n / columns), c->firsts.items[n % columns]},
			.time_ns = c->cells[n] & (((uint64_t)1 << EVENT_SUM_TIME_BITS) - 1)};

		if (c->cells[n] && large_push(&c->slice.sums, sum))
			error = error_memory(SUBJECT);
	}
	return error;
}

static int add_slices(struct counting *c)
{
	const struct slice_part *p = c->part;

	if (!p->sums || p->first >= p->end)
		return 0;
	c->cells = calloc(c->keys.codes.items.count * c->firsts.count + 1, sizeof(*c->cells));
	if (!c->cells)
		return error_memory(SUBJECT);
	for (uint32_t n = p->first; n < p->end; n++)
		add_slice(c, n);
	return list_cells(c) ?: c->kept ? add_others(c) : 0;
}

static int fold_calls(struct counting *c, const struct profile_reader *r)
{
	int error = add_slices(c);

	c->any = c->any || c->slice.sums.count || c->fold.more.used;
	c->fold.reader = r;
	c->fold.options = c->options;
	c->fold.keys = &c->keys;
	c->fold.codes = c->options->codes;
	c->fold.shown = c->shown;
	c->fold.slices = &c->slice;
	c->fold.slice_count = 1;
	return error || !c->firsts.count ? error : fold_add(&c->fold, c->result);
}

/* 1; 0 where too little is kept, or there would be too many columns. */
static int find_kept(struct counting *c)
{
	const struct view_options *o = c->options;
	int error = 0;

	if (!o->sums || !o->codes || !o->range.known)
		return 0;
	c->keys = o->sums->all.keys;
	if (o->sums->callless) {
		if (!o->calls)
			return 0;
		error = calls_kept_read(o->calls, o->sums, o->range.known);
		c->kept = o->calls;
		c->keys.rests = c->kept->rests;
	}
	if (error || (c->kept && c->kept->too_large))
		return error;
	error = find_columns(c);
	return error == -E2BIG ? 0 : error ?: 1;
}

/* ------------------------------------------------------------------ */

static int add_tree(struct counting *c, const struct profile_reader *r)
{
	struct tree *tree = c->result->tree;
	const struct gather_sum *sum;
	struct event_nodes nodes;
	size_t n = 0;
	int error = event_nodes_init(&nodes, r, c->options, tree);

	error = error ?: gather_sort(&c->sums);
	while (!error && (sum = gather_next(&c->sums, &n))) {
		uint32_t node = 0;

		error = event_nodes_add(&nodes, &sum->key, &node);
		error = error ?: tree_add_time(tree, node, (sum->time_ns + PARTS / 2) / PARTS);
	}
	event_nodes_release(&nodes);
	return error;
}

static int read_events(struct counting *c, struct profile_reader *r)
{
	struct profile_event e;
	int more, error = 0;

	while (!error && (more = profile_reader_next(r, &e))) {
		if (more < 0)
			error = more;
		else if (e.kind == EVENT_CALL && e.call.kind != CALL_SYNC && !e.call.cut.continued)
			error = gather_call(c, &e);
		c->any |= more > 0 && e.kind == EVENT_CALL;
	}
	return error;
}

static int count(struct counting *c, struct profile_reader *r)
{
	const struct slice_sums *sums = c->options->sums;
	struct slice_part part = {.reader = r, .whole = profile_reader_clip_of(r)};
	int kept, error;

	c->part = &part;
	kept = find_kept(c);
	if (kept < 0)
		return kept;
	if (!kept) {
		free(c->alike);
		c->alike = NULL;
	}
	slice_part_begin(&part, kept || (sums && !sums->callless) ? sums : NULL, r);
	part.events = (uint64_t)1 << EVENT_CALL;
	error = read_events(c, r);
	if (!error)
		error = kept ? fold_calls(c, r) : slice_part_each(&part, gather_sum, c);
	return error ?: add_tree(c, r);
}

int calls_build(struct profile_reader *r, const struct view_options *o, struct view_result *ret)
{
	struct counting c = {.options = o, .result = ret};
	int error;

	ret->unit = VIEW_COUNT;
	view_one_time(ret, "calls");
	error = count(&c, r);
	if (!error && profile_is_in_bursts(r))
		error = view_remark(
			ret, "calls were recorded in bursts: their numbers are estimates");
	if (!c.any) {
		ret->lacking = "calls of a GPU API";
		ret->help = "record a program that uses a GPU";
	}
	release(&c);
	return error;
}
