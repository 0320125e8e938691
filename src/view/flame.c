// SPDX-License-Identifier: MIT
/*
 * Two steps: all events are summed by the two halves of their keys (keys.h), then the sums become a
 * tree (fold.h). The first step is what ten million events cost, the second sees each distinct
 * stack and operation once. Most recordings have few of these, and then events are summed by their
 * whole keys first, in a table that is small enough to be near. With sums that are kept
 * (slice_sums.h) only what they do not have is read. What has no time, or has a key that is not
 * among those that are kept, is added to the tree by itself.
 */
#include "view/flame.h"

#include <errno.h>

#include "base/error.h"
#include "view/blocks/blocks.h"
#include "view/fold/event_nodes.h"
#include "view/fold/fold.h"
#include "view/fold/gpu_bursts.h"
#include "view/fold/missing.h"
#include "view/fold/slice_sums.h"

#define MERGE_SUMS ((size_t)4 << 20)
#define NEAR_SUMS  ((size_t)1 << 16)
#define NEAR_ALIKE 4 /* events of a sum, at least: with fewer the table is not worth it */

struct flame {
	const struct profile_reader *reader;
	const struct view_options *options;
	unsigned int show;
	unsigned int seen;  /* VIEW_SHOWS_ of the events that there are, shown or not */
	struct gather near; /* what is summed by whole keys */
	struct gather_waiting near_waiting;
	uint64_t near_events;
	bool all_far;
	struct event_sums own; /* where none are kept */
	struct slice own_slice;
	size_t merged; /* sums of it that are of a pair each */
	struct code_tree own_codes;
	struct fold fold;
	struct gather others;
	struct view_result *result;
	struct missing missing;
	struct gpu_bursts bursts;
	struct blocks blocks; /* where their time is the weight */
	uint64_t without;     /* kernels that have none */
};

static int gather_other(
	struct flame *f, const struct gather_key *whole, uint64_t time_ns, uint64_t count)
{
	struct gather_key key = event_key_for(whole, f->options);

	return gather_add_sum(&f->others, &key, time_ns, count ?: 1);
}

/* Where there are many pairs, there may be many sums of each before they are merged. */
static int gather_far(
	struct flame *f, const struct gather_key *whole, uint64_t time_ns, uint64_t count)
{
	struct event_sum_list *sums = &f->own_slice.sums;
	int error = event_sums_add(&f->own, sums, whole, time_ns, count);

	if (error || sums->count < 2 * f->merged + MERGE_SUMS)
		return error;
	error = event_sums_rest(&f->own) ?: event_sums_merge(&f->own, sums);
	f->merged = sums->count;
	return error;
}

/* What is near becomes far. */
static int spread_near(struct flame *f)
{
	int error = gather_rest(&f->near, &f->near_waiting);
	const struct gather_sum *sum;
	size_t n = 0;

	f->all_far = f->near_events < f->near.used * NEAR_ALIKE;
	f->near_events = 0;
	while (!error && (sum = gather_next(&f->near, &n)))
		error = gather_far(f, &sum->key, sum->time_ns, sum->count);
	gather_release(&f->near);
	return error;
}

static int gather_own(struct flame *f, const struct gather_key *whole, uint64_t time_ns)
{
	if (f->all_far)
		return gather_far(f, whole, time_ns, 1);
	f->near_events++;
	return gather_later(&f->near, &f->near_waiting, whole, time_ns)
		       ?: f->near.used < NEAR_SUMS ? 0
						   : spread_near(f);
}

static int gather(struct flame *f, const struct profile_event *e, uint64_t time_ns)
{
	struct gather_key whole = event_whole_key(e);
	struct event_pair pair;

	if (!time_ns)
		return gather_other(f, &whole, 0, 1);
	if (f->fold.keys == &f->own.keys)
		return gather_own(f, &whole, time_ns);
	if (!event_keys_find(f->fold.keys, &whole, &pair))
		return gather_other(f, &whole, time_ns, 1);
	return pair_sums_add(&f->fold.more, (struct pair_sum){pair.code, pair.rest, time_ns, 1, 0});
}

/* Of the blocks of a kernel, altogether. */
static int gather_blocks(struct flame *f, const struct profile_event *e)
{
	const struct profile_op *op = profile_op(f->reader, e->work.op);
	const struct block_run *run = op ? blocks_of(&f->blocks, op, &e->work) : NULL;
	struct gather_key key = event_key(e, f->options);
	uint64_t sum_ns = 0;

	if (!run) {
		f->without += op && op->kind == OP_KERNEL;
		return 0;
	}
	missing_count_work(&f->missing, &key, 1);
	for (uint32_t i = run->first; i < run->first + run->count; i++)
		sum_ns += f->blocks.items.items[i].duration_ns;
	return gather(f, e, sum_ns);
}

static int gather_work(struct flame *f, const struct profile_event *e)
{
	struct gather_key key = event_key(e, f->options);

	if (f->options->weight == VIEW_WEIGHT_BLOCKS)
		return gather_blocks(f, e);
	missing_count_work(&f->missing, &key, !e->work.cut.continued);
	return gpu_bursts_add(&f->bursts, f->reader, &e->work)
		       ?: gather(f, e, profile_work_ns(&e->work));
}

static int gather_pending(struct flame *f, const struct profile_event *e)
{
	return missing_count_pendings(&f->missing, e->pending.reason, 1) ? gather(f, e, 0) : 0;
}

static int gather_sample(struct flame *f, const struct profile_event *e)
{
	return gather(f, e, e->sample.period_ns);
}

static int gather_event(struct flame *f, const struct profile_event *e)
{
	static const struct {
		unsigned int shows;
		int (*gather)(struct flame *f, const struct profile_event *e);
	} kinds[] = {
		[EVENT_SAMPLE] = {VIEW_SHOWS_CPU, gather_sample},
		[EVENT_WORK] = {VIEW_SHOWS_GPU, gather_work},
		[EVENT_PENDING] = {VIEW_SHOWS_GPU, gather_pending},
	};

	if (e->kind >= sizeof(kinds) / sizeof(kinds[0]))
		return 0;
	f->seen |= kinds[e->kind].shows;
	return f->show & kinds[e->kind].shows ? kinds[e->kind].gather(f, e) : 0;
}

/* ------------------------------------------------------------------ sums that are kept */

static unsigned int shows(const struct gather_key *key)
{
	return key->event == EVENT_SAMPLE				 ? VIEW_SHOWS_CPU
	       : key->event == EVENT_WORK || key->event == EVENT_PENDING ? VIEW_SHOWS_GPU
									 : 0;
}

static int gather_spread(void *flame, const struct gather_sum *sum)
{
	struct flame *f = flame;

	f->seen |= shows(&sum->key);
	return f->show & shows(&sum->key) ? gather_other(f, &sum->key, sum->time_ns, sum->count)
					  : 0;
}

/* What is not added up by its time alone: work without a stack, and what has no time. */
static int look_at_sum(struct flame *f, const struct event_sum *sum)
{
	struct gather_key whole = event_keys_at(f->fold.keys, sum->pair),
			  key = event_key_for(&whole, f->options);

	if (key.event == EVENT_WORK)
		missing_count_work(&f->missing, &key, sum->count);
	if (key.event == EVENT_PENDING &&
		!missing_count_pendings(&f->missing, whole.reason, sum->count))
		return 0;
	return sum->time_ns || !sum->count ? 0 : gather_other(f, &whole, 0, sum->count);
}

/* All have been seen that there are in this part. */
static int look_at_sums(struct flame *f)
{
	const struct gather_key *rests = f->fold.keys->rests.items.items;
	unsigned int seen = 0;
	int error = 0;

	for (uint32_t i = 0; i < f->fold.slice_count; i++)
		vec_foreach (sum, &f->fold.slices[i].sums) {
			const struct gather_key *rest = &rests[sum->pair.rest];

			seen |= shows(rest);
			if (f->fold.shown[sum->pair.rest] &&
				(!sum->time_ns || (rest->event == EVENT_WORK && rest->reason)))
				error = error ?: look_at_sum(f, sum);
		}
	f->seen |= seen;
	return error;
}

static int choose_shown(struct flame *f, const struct slice_part *p, bool *shown)
{
	vec_foreach (rest, &f->fold.keys->rests.items)
		shown[rest - f->fold.keys->rests.items.items] =
			f->show & shows(rest) && (!p->sums || slice_part_has(p, rest));
	f->fold.shown = shown;
	if (!p->sums) {
		f->fold.slices = &f->own_slice;
		f->fold.slice_count = 1;
		f->fold.leaves = true;
		return 0;
	}
	f->fold.slices = &p->sums->items[p->first];
	f->fold.slice_count = p->end - p->first;
	return look_at_sums(f) ?: slice_part_spreads(p, gather_spread, f);
}

/* Where another view has something to show. */
static void name_lacking(struct flame *f)
{
	bool cpu = f->show & VIEW_SHOWS_CPU;

	if (!f->seen || f->seen & f->show)
		return;
	f->result->lacking = cpu ? "CPU time" : "GPU work";
	f->result->help =
		cpu ? "'--view gpu' shows its GPU work" : "'--view cpu' shows its CPU time";
}

static int add_others(struct flame *f)
{
	struct tree *tree = f->result->tree;
	const struct gather_sum *sum;
	struct event_nodes nodes;
	size_t n = 0;
	int error = event_nodes_init(&nodes, f->reader, f->options, tree);

	error = error ?: gather_sort(&f->others);
	while (!error && (sum = gather_next(&f->others, &n))) {
		uint32_t node = 0;

		error = event_nodes_add(&nodes, &sum->key, &node);
		error = error ?: tree_add_time(tree, node, sum->time_ns);
		if (!error && sum->key.event == EVENT_SAMPLE)
			error = tree_add_samples(
				tree, node, sum->key.reason == SAMPLE_SEEN ? sum->count : 0);
	}
	event_nodes_release(&nodes);
	return error;
}

static int add_fold(struct flame *f, const struct slice_part *p)
{
	bool *shown = calloc(f->fold.keys->rests.items.count + 1, sizeof(*shown));
	int error = shown ? choose_shown(f, p, shown) : error_memory("the flame graph");

	error = error ?: fold_add(&f->fold, f->result);
	free(shown);
	return error;
}

static int build_tree(struct flame *f, const struct slice_part *p)
{
	int error = spread_near(f) ?: event_sums_rest(&f->own);

	event_sums_settle(&f->own);
	error = error ?: add_fold(f, p);
	error = error ?: add_others(f);
	return error || !(f->show & f->seen & VIEW_SHOWS_CPU)
		       ? error
		       : tree_add_samples(f->result->tree, TREE_ROOT_NODE, 0);
}

static void begin_fold(struct flame *f, const struct slice_part *p)
{
	f->fold.reader = f->reader;
	f->fold.options = f->options;
	f->fold.keys = p->sums ? &p->sums->all.keys : &f->own.keys;
	f->fold.codes = p->sums ? f->options->codes : &f->own_codes;
}

/* What is of a kernel is only known when all has been read; `ret` begins anew. */
static int read_blocks(struct flame *f, struct profile_reader *r, struct profile_reader **ret)
{
	struct profile_event event;
	int more, error;

	while ((more = profile_reader_next(r, &event)) > 0)
		continue;
	error = more ?: blocks_read(&f->blocks, r, BLOCKS_ALL);
	if (!error && !f->blocks.runs.count)
		error = error_set(-ENOENT,
			"there are no blocks of kernels: 'xpuprof record --probe blocks' records "
			"them");
	return error ?: profile_reader_open_again(ret, r);
}

static int blocks_remarks(struct flame *f, struct view_result *ret)
{
	uint64_t left_out = f->blocks.left_out + f->blocks.unplaced;
	int error = view_remark(ret,
		"widths are the time of blocks, which run at once on all multiprocessors, and not "
		"elapsed time of the GPU");

	if (!error && f->without)
		error = view_remark(ret, "kernels without blocks, which are not shown: %llu",
			(unsigned long long)f->without);
	if (!error && left_out)
		error = view_remark(ret, "blocks of no kernel that is known, not shown: %llu",
			(unsigned long long)left_out);
	return error;
}

int flame_build(struct profile_reader *r, const struct view_options *o, struct view_result *ret)
{
	struct flame f = {.reader = r, .options = o, .show = ret->shows, .result = ret};
	bool by_blocks = o->weight == VIEW_WEIGHT_BLOCKS;
	struct profile_reader *again = NULL;
	struct profile_event event;
	struct slice_part part;
	int more, error = by_blocks ? read_blocks(&f, r, &again) : 0;

	error = error ?: event_sums_init(&f.own);
	slice_part_begin(&part, o->codes ? o->sums : NULL, r);
	begin_fold(&f, &part);
	while (!error && (more = profile_reader_next(again ? again : r, &event)))
		error = more < 0 ? more : gather_event(&f, &event);
	error = error ?: build_tree(&f, &part);
	if (by_blocks)
		ret->time = "block time";
	if (!error && by_blocks)
		error = blocks_remarks(&f, ret);
	else if (!error && ret->shows & VIEW_SHOWS_GPU)
		error = gpu_bursts_describe(&f.bursts, r, ret);
	error = error ?: missing_remarks(&f.missing, r, ret);
	name_lacking(&f);
	gather_release(&f.near);
	gather_release(&f.others);
	fold_release(&f.fold);
	event_sums_release(&f.own);
	vec_release(&f.own_slice.sums);
	code_tree_release(&f.own_codes);
	gpu_bursts_release(&f.bursts);
	blocks_release(&f.blocks);
	profile_reader_close(again);
	return error;
}
