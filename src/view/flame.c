// SPDX-License-Identifier: MIT
/*
 * Two steps: all events are summed by ids (gather.h), then each sum is added to the tree. The
 * first step is what ten million events cost, the second sees each distinct stack and operation
 * once.
 */
#include "view/flame.h"

#include <errno.h>

#include "base/error.h"
#include "view/blocks/blocks.h"
#include "view/fold/event_nodes.h"
#include "view/fold/gpu_bursts.h"
#include "view/fold/missing.h"
#include "view/fold/slice_sums.h"

struct flame {
	const struct profile_reader *reader;
	const struct view_options *options;
	unsigned int show;
	unsigned int seen; /* VIEW_SHOWS_ of the events that there are, shown or not */
	struct gather sums;
	struct gather_waiting waiting; /* for the sums */
	struct view_result *result;
	struct missing missing;
	struct gpu_bursts bursts;
	struct blocks blocks; /* where their time is the weight */
	uint64_t without;     /* kernels that have none */
};

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
	return gather_later(&f->sums, &f->waiting, &key, sum_ns);
}

static int gather_work(struct flame *f, const struct profile_event *e)
{
	struct gather_key key = event_key(e, f->options);

	if (f->options->weight == VIEW_WEIGHT_BLOCKS)
		return gather_blocks(f, e);
	missing_count_work(&f->missing, &key, !e->work.cut.continued);
	return gpu_bursts_add(&f->bursts, f->reader, &e->work)
		       ?: gather_later(&f->sums, &f->waiting, &key, profile_work_ns(&e->work));
}

static int gather_pending(struct flame *f, const struct profile_event *e)
{
	struct gather_key key = event_key(e, f->options);

	return missing_count_pendings(&f->missing, e->pending.reason, 1)
		       ? gather_later(&f->sums, &f->waiting, &key, 0)
		       : 0;
}

static int gather_sample(struct flame *f, const struct profile_event *e)
{
	struct gather_key key = event_key(e, f->options);

	return gather_later(&f->sums, &f->waiting, &key, e->sample.period_ns);
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

/* Of a slice, with all that are alike. */
static int gather_sum(void *flame, const struct gather_sum *sum)
{
	struct flame *f = flame;
	struct gather_key key = event_key_for(&sum->key, f->options);
	unsigned int shows = sum->key.event == EVENT_SAMPLE ? VIEW_SHOWS_CPU
			     : sum->key.event == EVENT_WORK || sum->key.event == EVENT_PENDING
				     ? VIEW_SHOWS_GPU
				     : 0;

	f->seen |= shows;
	if (!(f->show & shows))
		return 0;
	if (key.event == EVENT_WORK)
		missing_count_work(&f->missing, &key, sum->count);
	if (key.event == EVENT_PENDING &&
		!missing_count_pendings(&f->missing, sum->key.reason, sum->count))
		return 0;
	return gather_add_sum(&f->sums, &key, sum->time_ns, sum->count ?: 1);
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

static int build_tree(struct flame *f)
{
	struct tree *tree = f->result->tree;
	const struct gather_sum *sum;
	struct event_nodes nodes;
	size_t n = 0;
	int error = event_nodes_init(&nodes, f->reader, f->options, tree);

	error = error ?: gather_sort(&f->sums);
	while (!error && (sum = gather_next(&f->sums, &n))) {
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

	slice_part_begin(&part, o->sums, r);
	while (!error && (more = profile_reader_next(again ? again : r, &event)))
		error = more < 0 ? more : gather_event(&f, &event);
	error = error ?: gather_rest(&f.sums, &f.waiting);
	error = error ?: slice_part_each(&part, gather_sum, &f);
	error = error ?: build_tree(&f);
	if (by_blocks)
		ret->time = "block time";
	if (!error && by_blocks)
		error = blocks_remarks(&f, ret);
	else if (!error && ret->shows & VIEW_SHOWS_GPU)
		error = gpu_bursts_describe(&f.bursts, r, ret);
	error = error ?: missing_remarks(&f.missing, r, ret);
	name_lacking(&f);
	gather_release(&f.sums);
	gpu_bursts_release(&f.bursts);
	blocks_release(&f.blocks);
	profile_reader_close(again);
	return error;
}
