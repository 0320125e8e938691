// SPDX-License-Identifier: MIT
/*
 * Three passes: the time of each code goes to its leaf, and from there down to the root; what is
 * large enough is kept; and the time of each sum goes to the last node on its way that is kept. At
 * a leaf what stands on it is added, elsewhere it is of frames that are left out.
 *
 * Nodes are kept by the time of all threads and processes together, which is at least that of one.
 *
 * There are millions of sums, and they are in no order: what is looked up for each has to be small.
 * So times are added up by code before they go to the nodes, and a code has with it what is kept of
 * it.
 */
#include "view/fold/fold.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/intern.h"
#include "base/large.h"
#include "base/map.h"
#include "view/fold/event_nodes.h"
#include "view/fold/loose.h"

#define SUBJECT "the flame graph"

#define TOP_LEFT_OUT UINT32_MAX
#define CUTS_MIN     4 /* so many have columns in any case */
#define CUTS_MAX     16
#define CELLS_MAX    ((size_t)8 << 20) /* of 8 bytes: codes by cut, where there are several */
#define AHEAD	     16		       /* sums, of which what is looked up is asked for */

/* What stands below and above the code. */
struct side {
	uint32_t base, top; /* nodes of `sides` */
	uint32_t gpu, sampled;
};

/* Of the rest of a key: that of its sums, and the one where their code is left out. */
struct side_ids {
	uint32_t whole, cut;
	uint32_t cut_number; /* among the different ones */
};

struct folding {
	const struct fold *f;
	struct view_result *result;
	struct tree *sides; /* bases and tops, from the root on */
	struct interner *side_ids;
	struct side_ids *of; /* by rest */
	struct vec(uint32_t) cuts;
	bool samples; /* there are some */
	/* Of each code, for each of the cuts; where there are many of these, for all together. */
	uint64_t *code_times, *code_samples;
	size_t columns;
	bool whole_codes;	    /* some have time on their leaf */
	bool collected;		    /* the sums of large leaves are in `leaf_sums` */
	struct pair_sums leaf_sums; /* of codes and rests */
	uint64_t *times;	    /* by node of the code tree */
	uint32_t *kept;	     /* by node: itself, or the next one towards the root that is kept */
	uint32_t *code_kept; /* by code: twice that, and 1 where it is not its leaf */
	struct pair_sums at; /* of kept nodes and sides */
	uint32_t *code_frames, *side_frames; /* frame of the result + 1 */
	struct map nodes;		     /* side base << 32 | node -> node of the result */
	uint32_t *first_nodes, first_base;   /* of the first base: node of the result + 1 */
	uint32_t *path;
	size_t path_max;
};

void fold_release(struct fold *f)
{
	pair_sums_release(&f->more);
}

static void release(struct folding *x)
{
	tree_free(x->sides);
	interner_free(x->side_ids);
	free(x->of);
	vec_release(&x->cuts);
	free(x->code_times);
	free(x->code_samples);
	free(x->times);
	free(x->kept);
	free(x->code_kept);
	pair_sums_release(&x->leaf_sums);
	pair_sums_release(&x->at);
	free(x->code_frames);
	free(x->side_frames);
	map_release(&x->nodes);
	free(x->first_nodes);
	free(x->path);
}

static int short_memory(void)
{
	return error_memory(SUBJECT);
}

/* ------------------------------------------------------------------ sides */

static int number_side(struct folding *x, const struct side *side, uint32_t *ret)
{
	return interner_add(x->side_ids, side, sizeof(*side), ret, NULL) ? short_memory() : 0;
}

/* Interned bytes lie anywhere. */
static struct side side_of(const struct folding *x, uint32_t id)
{
	struct side side;

	memcpy(&side, interner_get(x->side_ids, id, NULL), sizeof(side));
	return side;
}

static int number_cut(struct folding *x, struct side_ids *ids)
{
	for (ids->cut_number = 0; ids->cut_number < x->cuts.count; ids->cut_number++)
		if (x->cuts.items[ids->cut_number] == ids->cut)
			return 0;
	if (x->cuts.count > CUTS_MAX)
		return 0;
	return vec_push(&x->cuts, ids->cut) ? short_memory() : 0;
}

static int find_side(struct folding *x, struct event_nodes *nodes, size_t rest)
{
	struct gather_key key = event_key_for(&x->f->keys->rests.items.items[rest], nodes->options);
	struct side side = {.gpu = key.event == EVENT_WORK || key.event == EVENT_PENDING,
		.sampled = key.event == EVENT_SAMPLE && key.reason == SAMPLE_SEEN};
	int error = event_nodes_add_base(nodes, &key, &side.base);

	error = error ?: event_nodes_add_top(nodes, &key, &side.top);
	error = error ?: number_side(x, &side, &x->of[rest].whole);
	side.top = TOP_LEFT_OUT;
	error = error ?: number_side(x, &side, &x->of[rest].cut);
	x->samples |= side.sampled;
	return error ?: number_cut(x, &x->of[rest]);
}

static int find_sides(struct folding *x)
{
	const struct fold *f = x->f;
	size_t count = f->keys->rests.items.count;
	struct event_nodes nodes;
	int error = tree_new(&x->sides);

	x->of = calloc(count + 1, sizeof(*x->of));
	if (error || !x->of || interner_new(&x->side_ids))
		return error ?: short_memory();
	error = event_nodes_init(&nodes, f->reader, f->options, x->sides);
	for (size_t n = 0; !error && n < count; n++)
		if (f->shown[n])
			error = find_side(x, &nodes, n);
	event_nodes_release(&nodes);
	return error;
}

/* ------------------------------------------------------------------ time of the code */

static bool has_columns(const struct folding *x)
{
	return x->cuts.count <= CUTS_MIN ||
	       (x->cuts.count <= CUTS_MAX && x->cuts.count * x->f->codes->leaf_count <= CELLS_MAX);
}

static size_t cell_of(const struct folding *x, struct event_pair pair)
{
	size_t first = pair.code * x->columns;

	return has_columns(x) ? first + x->of[pair.rest].cut_number : first;
}

static int add_more(struct folding *x)
{
	const struct pair_sum *more;
	uint64_t all = 0;
	size_t n = 0;

	while ((more = pair_sums_next(&x->f->more, &n))) {
		size_t cell = cell_of(x, (struct event_pair){more->first, more->second});

		if (!x->f->shown[more->second])
			continue;
		x->code_times[cell] += more->time_ns;
		if (x->samples)
			x->code_samples[cell] += more->count;
		if (__builtin_add_overflow(all, more->time_ns, &all))
			return error_set(-EOVERFLOW, "the sum of all times does not fit 64 bits");
	}
	return 0;
}

static void add_slice_times(struct folding *x, const struct event_sum_list *sums)
{
	const struct event_sum *sum = sums->items;

	for (size_t n = 0; n < sums->count; n++, sum++) {
		size_t cell = cell_of(x, sum->pair);

		if (n + AHEAD < sums->count)
			__builtin_prefetch(&x->code_times[sum[AHEAD].pair.code * x->columns], 1);
		if (!x->f->shown[sum->pair.rest])
			continue;
		x->code_times[cell] += sum->time_ns;
		if (x->samples)
			x->code_samples[cell] += sum->count;
	}
}

static uint64_t *new_cells(const struct folding *x)
{
	size_t count = (x->f->codes->leaf_count + 1) * x->columns;

	return large_zeros(count, sizeof(uint64_t));
}

static uint64_t time_of_code(const struct folding *x, size_t code)
{
	uint64_t sum = 0;

	for (size_t n = 0; n < x->columns; n++)
		sum += x->code_times[code * x->columns + n];
	return sum;
}

static int add_times(struct folding *x)
{
	const struct fold *f = x->f;
	size_t codes = f->codes->leaf_count;
	int error;

	x->columns = has_columns(x) && x->cuts.count ? x->cuts.count : 1;
	x->code_times = new_cells(x);
	x->code_samples = x->samples ? new_cells(x) : NULL;
	if (!x->code_times || (x->samples && !x->code_samples))
		return short_memory();
	for (uint32_t i = 0; i < f->slice_count; i++)
		add_slice_times(x, &f->slices[i].sums);
	error = add_more(x);
	for (size_t n = 0; n < codes; n++) {
		if (n + AHEAD < codes)
			__builtin_prefetch(&x->times[f->codes->leaves[n + AHEAD]], 1);
		x->times[f->codes->leaves[n]] += time_of_code(x, n);
	}
	return error;
}

static void choose_codes(struct folding *x)
{
	const struct code_tree *t = x->f->codes;

	for (size_t n = 0; n < t->leaf_count; n++) {
		uint32_t kept = x->kept[t->leaves[n]];

		if (n + AHEAD < t->leaf_count)
			__builtin_prefetch(&x->kept[t->leaves[n + AHEAD]]);
		x->code_kept[n] = kept << 1 | (kept != t->leaves[n]);
		x->whole_codes |= kept == t->leaves[n] && time_of_code(x, n);
	}
}

/* By code: whether its leaf has at least so much time. */
static uint8_t *find_large(const struct folding *x, uint64_t least)
{
	const struct code_tree *t = x->f->codes;
	uint8_t *large = calloc(t->leaf_count + 1, 1);

	for (size_t n = 0; large && n < t->leaf_count; n++) {
		if (n + AHEAD < t->leaf_count)
			__builtin_prefetch(&x->times[t->leaves[n + AHEAD]]);
		large[n] = x->times[t->leaves[n]] >= least;
	}
	return large;
}

static int collect_slice(struct folding *x, const uint8_t *large, const struct slice *slice)
{
	int error = 0;

	vec_foreach (sum, &slice->sums)
		if (large[sum->pair.code] && x->f->shown[sum->pair.rest] && sum->time_ns)
			error = error
					?: pair_sums_add(&x->leaf_sums,
						   (struct pair_sum){sum->pair.code, sum->pair.rest,
							   sum->time_ns, sum->count, 0});
	return error;
}

/* What stands on leaves with at least so much time: nothing else has as much by itself. */
static int collect_leaf_sums(struct folding *x, uint64_t least)
{
	uint8_t *large = find_large(x, least);
	int error = large ? 0 : short_memory();

	for (uint32_t i = 0; !error && i < x->f->slice_count; i++)
		error = collect_slice(x, large, &x->f->slices[i]);
	free(large);
	x->collected = true;
	return error;
}

/* Nodes below which nothing is kept are no more with what stands on leaves than without it: so that
 * is only added up where it may be kept. */
static int count_leaf_sums(struct folding *x, struct tree_sizes *sizes, uint64_t *least)
{
	const struct pair_sum *sum;
	size_t n = 0;
	int error = collect_leaf_sums(x, *least);

	while (!error && (sum = pair_sums_next(&x->leaf_sums, &n)))
		tree_sizes_add(sizes, sum->time_ns);
	if (!error)
		*least = tree_sizes_least(sizes, x->f->options->node_max);
	return error;
}

static int choose_least(struct folding *x, uint64_t *ret_least)
{
	const struct code_tree *t = x->f->codes;
	struct tree_sizes sizes = {0};

	*ret_least = 1;
	for (uint32_t n = t->node_count - 1; n; n--) {
		x->times[t->nodes[n].parent] += x->times[n];
		tree_sizes_add(&sizes, x->times[n]);
	}
	if (!x->f->options->node_max)
		return 0;
	*ret_least = tree_sizes_least(&sizes, x->f->options->node_max);
	return x->f->leaves ? count_leaf_sums(x, &sizes, ret_least) : 0;
}

static int choose_kept(struct folding *x)
{
	const struct code_tree *t = x->f->codes;
	uint64_t least = 1, left_out = 0;
	int error = add_times(x);

	error = error ?: choose_least(x, &least);
	if (error)
		return error;
	for (uint32_t n = 1; n < t->node_count; n++) {
		bool large = x->times[n] >= least;

		x->kept[n] = large ? n : x->kept[t->nodes[n].parent];
		left_out += !large && x->times[n];
	}
	x->result->least = least > 1 ? least : 0;
	x->result->left_out = left_out;
	choose_codes(x);
	return 0;
}

/* ------------------------------------------------------------------ sums of kept nodes */

static uint32_t side_id_of(const struct folding *x, uint32_t kept, uint32_t rest)
{
	return kept & 1 ? x->of[rest].cut : x->of[rest].whole;
}

static int add_sum(struct folding *x, struct event_pair pair, uint64_t time_ns, uint64_t count)
{
	uint32_t kept = x->code_kept[pair.code];

	if (!x->f->shown[pair.rest] || !time_ns || (kept & 1 && has_columns(x)))
		return 0;
	return pair_sums_add(&x->at,
		(struct pair_sum){kept >> 1, side_id_of(x, kept, pair.rest), time_ns, count, 0});
}

static void prefetch_sum(const struct folding *x, struct event_pair pair)
{
	uint32_t kept = x->code_kept[pair.code];

	if (!(kept & 1 && has_columns(x)))
		pair_sums_prefetch(&x->at, kept >> 1, side_id_of(x, kept, pair.rest));
}

static int add_slice(struct folding *x, const struct slice *slice)
{
	const struct event_sum *sums = slice->sums.items;
	size_t count = slice->sums.count;
	int error = 0;

	for (size_t n = 0; !error && n < count; n++) {
		if (n + 2 * AHEAD < count)
			__builtin_prefetch(&x->code_kept[sums[n + 2 * AHEAD].pair.code]);
		if (n + AHEAD < count)
			prefetch_sum(x, sums[n + AHEAD].pair);
		error = add_sum(x, sums[n].pair, sums[n].time_ns, sums[n].count);
	}
	return error;
}

static int add_leaf_sums(struct folding *x)
{
	const struct pair_sum *sum;
	size_t n = 0;
	int error = 0;

	while (!error && (sum = pair_sums_next(&x->leaf_sums, &n)))
		error = add_sum(
			x, (struct event_pair){sum->first, sum->second}, sum->time_ns, sum->count);
	pair_sums_release(&x->leaf_sums);
	return error;
}

static int add_sums(struct folding *x)
{
	const struct pair_sum *more;
	size_t n = 0;
	int error = 0;

	if (!x->whole_codes && has_columns(x))
		return 0;
	if (x->collected && has_columns(x))
		return add_leaf_sums(x);
	for (uint32_t i = 0; !error && i < x->f->slice_count; i++)
		error = add_slice(x, &x->f->slices[i]);
	while (!error && (more = pair_sums_next(&x->f->more, &n)))
		error = add_sum(x, (struct event_pair){more->first, more->second}, more->time_ns,
			more->count);
	return error;
}

/* ------------------------------------------------------------------ the result */

/* The child of a node of the result with a frame of another tree. */
static int add_child(struct folding *x, const struct tree *from, uint32_t frame, uint32_t *frames,
	uint32_t *node)
{
	const struct tree_frame *f = &tree_frames(from)[frame];
	struct tree *to = x->result->tree;
	uint32_t added;
	int error = 0;

	if (!frames[frame]) {
		error = tree_add_frame(to, f->kind, f->number, f->name, f->size, &added);
		frames[frame] = error ? 0 : added + 1;
	}
	return error ?: tree_add_child(to, *node, frames[frame] - 1, node);
}

static int push_path(struct folding *x, size_t depth, uint32_t node)
{
	if (depth >= x->path_max) {
		size_t most = depth ? 2 * depth : 256;
		uint32_t *path = realloc(x->path, most * sizeof(*path));

		if (!path)
			return short_memory();
		x->path = path;
		x->path_max = most;
	}
	x->path[depth] = node;
	return 0;
}

/* What stands on the root of `sides`, on *node of the result. `path`: how long that is already. */
static int add_side(struct folding *x, size_t path, uint32_t side, uint32_t *node)
{
	const struct tree_node *nodes = tree_nodes(x->sides);
	size_t depth = path;
	int error = 0;

	for (; !error && side; side = nodes[side].parent)
		error = push_path(x, depth++, side);
	while (!error && depth-- > path)
		error = add_child(x, x->sides, nodes[x->path[depth]].frame, x->side_frames, node);
	return error;
}

static bool find_node(const struct folding *x, uint32_t base, uint32_t at, uint32_t *ret)
{
	const uint64_t *found;

	if (base == x->first_base) {
		*ret = x->first_nodes[at] - 1;
		return x->first_nodes[at];
	}
	found = map_get(&x->nodes, (uint64_t)base << 32 | at);
	*ret = found ? (uint32_t)*found : 0;
	return found;
}

static int keep_node(struct folding *x, uint32_t base, uint32_t at, uint32_t node)
{
	if (base == x->first_base)
		x->first_nodes[at] = node + 1;
	else if (map_put(&x->nodes, (uint64_t)base << 32 | at, node))
		return short_memory();
	return 0;
}

/* The node of the result for one of the code tree above a base. */
static int node_of(struct folding *x, uint32_t base, uint32_t at, uint32_t *ret)
{
	const struct code_tree *t = x->f->codes;
	size_t depth = 0;
	int error = 0;

	*ret = TREE_ROOT_NODE;
	while (!error && !find_node(x, base, at, ret)) {
		if (!at) {
			*ret = TREE_ROOT_NODE;
			error = add_side(x, depth, base, ret);
			error = error ?: keep_node(x, base, 0, *ret);
			break;
		}
		error = push_path(x, depth++, at);
		at = t->nodes[at].parent;
	}
	while (!error && depth--) {
		at = x->path[depth];
		error = add_child(x, t->frames, t->nodes[at].frame, x->code_frames, ret);
		error = error ?: keep_node(x, base, at, *ret);
	}
	return error;
}

/* Above others there may be more, which together are not too little. */
static bool stands_alone(const struct folding *x, uint32_t top)
{
	return top && tree_nodes(x->sides)[top].parent == TREE_ROOT_NODE;
}

static int leave_out(struct folding *x, const struct pair_sum *sum, uint32_t node)
{
	const struct side side = side_of(x, sum->second);
	const struct tree_time left_out = {.cpu = side.gpu ? 0 : sum->time_ns,
		.gpu = side.gpu ? sum->time_ns : 0,
		.samples = side.sampled ? sum->count : 0};

	return tree_add_left_out(x->result->tree, node, &left_out);
}

static int add_result(struct folding *x, const struct pair_sum *sum)
{
	const struct side side = side_of(x, sum->second);
	uint64_t samples = side.sampled ? sum->count : 0;
	struct tree *tree = x->result->tree;
	uint32_t node;
	int error = node_of(x, side.base, sum->first, &node);

	if (!error && side.top == TOP_LEFT_OUT)
		return leave_out(x, sum, node);
	if (!error && stands_alone(x, side.top) && sum->time_ns < x->result->least) {
		x->result->left_out++;
		return leave_out(x, sum, node);
	}
	error = error ?: add_side(x, 0, side.top, &node);
	error = error ?: tree_add_time(tree, node, sum->time_ns);
	return error || !samples ? error : tree_add_samples(tree, node, samples);
}

/* Moves what is left out of the codes with this cut to the nodes that are kept of them. */
static void move_cut(struct folding *x, size_t cut, const uint64_t *of_codes, uint64_t *ret_by_node)
{
	size_t codes = x->f->codes->leaf_count;

	memset(ret_by_node, 0, x->f->codes->node_count * sizeof(*ret_by_node));
	for (size_t code = 0; code < codes; code++) {
		if (code + AHEAD < codes)
			__builtin_prefetch(&ret_by_node[x->code_kept[code + AHEAD] >> 1], 1);
		if (x->code_kept[code] & 1)
			ret_by_node[x->code_kept[code] >> 1] += of_codes[code * x->columns + cut];
	}
}

/* What one process or thread has of each node, with all that stands on it. */
static void add_up_base(struct folding *x, uint32_t base, uint64_t *ret_totals)
{
	const struct code_tree *t = x->f->codes;
	const struct pair_sum *sum;
	size_t n = 0;

	memset(ret_totals, 0, t->node_count * sizeof(*ret_totals));
	for (size_t cut = 0; cut < x->cuts.count; cut++) {
		if (side_of(x, x->cuts.items[cut]).base != base)
			continue;
		move_cut(x, cut, x->code_times, x->times);
		for (size_t node = 0; node < t->node_count; node++)
			ret_totals[node] += x->times[node];
	}
	while ((sum = pair_sums_next(&x->at, &n)))
		if (side_of(x, sum->second).base == base)
			ret_totals[sum->first] += sum->time_ns;
	for (size_t node = t->node_count - 1; node; node--)
		ret_totals[t->nodes[node].parent] += ret_totals[node];
}

/* On the last node on its way that this base has enough of. */
static int add_result_of_base(struct folding *x, const struct pair_sum *sum, const uint64_t *totals)
{
	uint32_t at = sum->first, node;
	int error;

	while (at && totals[at] < x->result->least)
		at = x->f->codes->nodes[at].parent;
	if (at == sum->first)
		return add_result(x, sum);
	x->result->left_out++;
	error = node_of(x, side_of(x, sum->second).base, at, &node);
	return error ?: leave_out(x, sum, node);
}

static int add_results_of_base(struct folding *x, uint32_t base, const uint64_t *totals)
{
	const struct pair_sum *sum;
	size_t n = 0;
	int error = 0;

	while (!error && (sum = pair_sums_next(&x->at, &n)))
		if (side_of(x, sum->second).base == base)
			error = add_result_of_base(x, sum, totals);
	return error;
}

/* All together have enough of each node that is kept, but not each process or thread. */
static void cut_base(struct folding *x, const uint64_t *totals, uint64_t *samples)
{
	const struct code_tree *t = x->f->codes;

	for (size_t node = t->node_count - 1; node; node--) {
		if (!x->times[node] || totals[node] >= x->result->least)
			continue;
		x->times[t->nodes[node].parent] += x->times[node];
		x->times[node] = 0;
		if (samples) {
			samples[t->nodes[node].parent] += samples[node];
			samples[node] = 0;
		}
	}
}

static int add_cut(struct folding *x, size_t cut, const uint64_t *totals, uint64_t *samples)
{
	int error = 0;

	move_cut(x, cut, x->code_times, x->times);
	if (samples)
		move_cut(x, cut, x->code_samples, samples);
	if (totals)
		cut_base(x, totals, samples);
	for (uint32_t n = 0; !error && n < x->f->codes->node_count; n++)
		if (x->times[n])
			error = add_result(x, &(struct pair_sum){n, x->cuts.items[cut], x->times[n],
						      samples ? samples[n] : 0, 0});
	return error;
}

/* Whether nodes are left out of what single processes or threads have. */
static bool divides_bases(const struct folding *x)
{
	if (!has_columns(x) || !x->result->least)
		return false;
	vec_foreach (cut, &x->cuts)
		if (side_of(x, *cut).base != side_of(x, x->cuts.items[0]).base)
			return true;
	return false;
}

/* Where there are several bases, each has its totals first. */
static int add_base(struct folding *x, size_t first, uint64_t *totals, uint64_t *samples)
{
	uint32_t base = side_of(x, x->cuts.items[first]).base;
	int error = 0;

	for (size_t cut = 0; cut < first; cut++)
		if (side_of(x, x->cuts.items[cut]).base == base)
			return 0;
	if (totals) {
		add_up_base(x, base, totals);
		error = add_results_of_base(x, base, totals);
	}
	for (size_t cut = first; !error && cut < x->cuts.count; cut++)
		if (side_of(x, x->cuts.items[cut]).base == base)
			error = add_cut(x, cut, totals, samples);
	return error;
}

/* What is left out of all codes, without a look at each sum. */
static int add_cuts(struct folding *x)
{
	size_t nodes = x->f->codes->node_count, cuts = has_columns(x) ? x->cuts.count : 0;
	uint64_t *samples = x->samples ? large_zeros(nodes, sizeof(*samples)) : NULL;
	bool has_totals = divides_bases(x);
	uint64_t *totals = has_totals ? large_zeros(nodes, sizeof(*totals)) : NULL;
	int error = (x->samples && !samples) || (has_totals && !totals) ? short_memory() : 0;

	for (size_t cut = 0; !error && x->result->least && cut < cuts; cut++)
		error = add_base(x, cut, totals, samples);
	free(samples);
	free(totals);
	return error;
}

static int make_frames(struct folding *x)
{
	x->code_frames = calloc(tree_frame_count(x->f->codes->frames), sizeof(*x->code_frames));
	x->side_frames = calloc(tree_frame_count(x->sides), sizeof(*x->side_frames));
	return x->code_frames && x->side_frames ? 0 : short_memory();
}

static int add_results(struct folding *x)
{
	const struct code_tree *t = x->f->codes;
	const struct pair_sum *sum;
	size_t n = 0;
	int error = 0;

	x->first_nodes = large_zeros(t->node_count, sizeof(*x->first_nodes));
	if (!x->first_nodes || make_frames(x))
		return short_memory();
	if (x->cuts.count)
		x->first_base = side_of(x, x->cuts.items[0]).base;
	while (!error && !divides_bases(x) && (sum = pair_sums_next(&x->at, &n)))
		error = add_result(x, sum);
	return error ?: add_cuts(x);
}

static int choose(struct folding *x)
{
	size_t nodes = x->f->codes->node_count;
	int error = find_sides(x);

	x->times = large_zeros(nodes, sizeof(*x->times));
	x->kept = large_zeros(nodes, sizeof(*x->kept));
	x->code_kept = calloc(x->f->codes->leaf_count + 1, sizeof(*x->code_kept));
	if (!x->times || !x->kept || !x->code_kept)
		return short_memory();
	error = error ?: choose_kept(x);
	free(x->kept);
	x->kept = NULL;
	return error;
}

int fold_choose(const struct fold *f, uint32_t **ret_kept, uint64_t *ret_least)
{
	struct view_result result = {0};
	struct folding x = {.f = f, .result = &result};
	int error = code_tree_make(f->codes, f->reader, f->options, &f->keys->codes);

	error = error ?: choose(&x);
	if (!error) {
		*ret_kept = x.code_kept;
		*ret_least = result.least;
		x.code_kept = NULL;
	}
	release(&x);
	return error;
}

int fold_add(const struct fold *f, struct view_result *ret)
{
	struct folding x = {.f = f, .result = ret};
	int error = code_tree_make(f->codes, f->reader, f->options, &f->keys->codes);

	if (!error && loose_fits(f))
		return loose_add(f, ret);
	error = error ?: choose(&x);
	error = error ?: add_sums(&x);
	error = error ?: add_results(&x);
	release(&x);
	return error;
}
