// SPDX-License-Identifier: MIT
/* Sums of events as a tree of frames, beside a twin that adds each event to the whole tree. */
#include "view/fold/fold.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "folder.h"
#include "profile/writer.h"
#include "random.h"
#include "trees.h"
#include "view/fold/event_nodes.h"
#include "view/tree/reverse.h"

#define THREADS 4
#define OPS	5
#define STACKS	1500
#define EVENTS	8000
#define SLICES	3
#define LEVELS	8

static uint32_t threads[THREADS + 1], ops[OPS], stacks[STACKS], apis[2];

static uint32_t string(struct profile_writer *w, const char *text, uint32_t number)
{
	char whole[64];
	uint32_t id;

	snprintf(whole, sizeof(whole), "%s_%u", text, number);
	CHECK(!profile_add_string(w, whole, strlen(whole), &id));
	return id;
}

static void add_tasks(struct profile_writer *w)
{
	for (uint32_t n = 0; n < THREADS; n++) {
		struct profile_process p = {.pid = 10 + n / 2, .comm = string(w, "program", n / 2)};
		struct profile_thread t = {.tid = 10 + n, .name = string(w, "thread", n)};

		CHECK(!profile_add_process(w, &p, &t.process));
		CHECK(!profile_add_thread(w, &t, &threads[n]));
	}
	for (uint32_t n = 0; n < OPS; n++) {
		struct profile_device d = {
			.ordinal = n % 2, .name = string(w, "GPU", 0), .uuid = {(uint8_t)(n % 2)}};
		struct profile_op op = {.kind = OP_KERNEL, .process = 1, .stream = 7 + n % 3};

		CHECK(!profile_add_device(w, &d, &op.device));
		op.name = string(w, "kernel", n / 2);
		CHECK(!profile_add_op(w, &op, &ops[n]));
	}
}

/* Functions have two addresses each, and the first level has one function. */
static void add_stacks(struct profile_writer *w)
{
	for (uint32_t n = 0; n < STACKS; n++) {
		uint32_t depth = 2 + random_below(LEVELS);

		stacks[n] = 0;
		for (uint32_t level = 0; level < depth; level++) {
			struct profile_location l = {.kind = FRAME_USER};
			uint32_t function = level ? random_below(4) : 0, location;

			l.address = 1000 * level + 10 * function + random_below(2);
			l.name = string(w, "function", 10 * level + function);
			CHECK(!profile_add_location(w, &l, &location));
			CHECK(!profile_add_stack_node(w, stacks[n], location, &stacks[n]));
		}
	}
}

/* Most of the time is in few stacks; some work has none, and some is of a graph. A stack has two
 * calls. */
static void add_events(struct profile_writer *w)
{
	for (uint32_t n = 0; n < EVENTS; n++) {
		uint32_t stack = stacks[random_below(1 + random_below(STACKS))];
		uint64_t time_ns = 1 + random_below(1 << random_below(20));
		struct profile_sample s = {.time_ns = 1000 + n,
			.period_ns = time_ns,
			.thread = threads[random_below(THREADS)],
			.stack = stack};
		struct profile_work work = {.start_ns = 1000 + n,
			.duration_ns = time_ns,
			.thread = s.thread,
			.op = ops[random_below(OPS)],
			.api = apis[random_below(2)],
			.join = n % 50 ? JOIN_OK : JOIN_STACK_LOST,
			.stack = n % 50 ? stack : 0,
			.node_stack = n % 7 ? 0 : stacks[random_below(STACKS)]};

		CHECK(n % 3 ? !profile_write_work(w, &work) : !profile_write_sample(w, &s));
	}
}

static struct profile_reader *make_profile(const char *path)
{
	struct profile_writer *w;
	struct profile_reader *r;
	struct profile_event e;

	CHECK(!profile_writer_open(&w, path));
	apis[0] = string(w, "cudaLaunchKernel", 0);
	apis[1] = string(w, "cudaLaunchKernel", 1);
	add_tasks(w);
	add_stacks(w);
	add_events(w);
	CHECK(!profile_writer_close(w) && !profile_reader_open(&r, path));
	while (profile_reader_next(r, &e) > 0)
		continue;
	return r;
}

static uint64_t time_of(const struct profile_event *e)
{
	return e->kind == EVENT_WORK ? e->work.duration_ns : e->sample.period_ns;
}

static void add_plainly(
	const struct profile_reader *done, const struct view_options *o, struct tree *tree)
{
	struct event_nodes nodes;
	struct profile_reader *r;
	struct profile_event e;

	CHECK(!profile_reader_open_again(&r, done) && !event_nodes_init(&nodes, r, o, tree));
	while (profile_reader_next(r, &e) > 0) {
		struct gather_key key = event_key(&e, o);
		uint32_t node;

		CHECK(!event_nodes_add(&nodes, &key, &node));
		CHECK(!tree_add_time(tree, node, time_of(&e)));
		if (e.kind == EVENT_SAMPLE)
			CHECK(!tree_add_samples(tree, node, 1));
	}
	event_nodes_release(&nodes);
	profile_reader_close(r);
}

static void add_folded(const struct profile_reader *done, const struct view_options *o, bool leaves,
	struct view_result *result)
{
	bool shown[THREADS * (OPS * 2 + 1) + 1];
	struct slice slices[SLICES] = {0};
	struct event_sums sums = {0};
	struct code_tree codes = {0};
	struct fold fold = {.reader = done,
		.options = o,
		.keys = &sums.keys,
		.codes = &codes,
		.shown = shown,
		.slices = slices,
		.slice_count = SLICES,
		.leaves = leaves};
	struct profile_reader *r;
	struct profile_event e;

	memset(shown, true, sizeof(shown));
	CHECK(!event_sums_init(&sums) && !profile_reader_open_again(&r, done));
	while (profile_reader_next(r, &e) > 0) {
		struct gather_key whole = event_whole_key(&e);
		struct slice *to = &slices[random_below(SLICES)];

		CHECK(!event_sums_add(&sums, &to->sums, &whole, time_of(&e), 1));
	}
	CHECK(!event_sums_rest(&sums) && sums.keys.rests.items.count <= sizeof(shown));
	CHECK(!event_sums_merge(&sums, &slices[0].sums));
	CHECK(!fold_add(&fold, result));
	profile_reader_close(r);
	for (size_t n = 0; n < SLICES; n++)
		vec_release(&slices[n].sums);
	code_tree_release(&codes);
	event_sums_release(&sums);
	fold_release(&fold);
}

static void add_sizes(struct tree *t, struct tree_sizes *sizes)
{
	struct tree_totals totals;

	CHECK(!tree_totals_init(&totals, t));
	for (uint32_t n = 1; n < tree_node_count(t); n++) {
		struct tree_time own = tree_totals_of(&totals, n);

		tree_sizes_add(sizes, own.cpu + own.gpu);
	}
	tree_totals_release(&totals);
}

/* From all nodes of the code, and all that stands on them. */
static uint64_t plain_least(const struct profile_reader *done, const struct view_options *o)
{
	struct tree_sizes sizes = {0};
	struct event_sum_list list = {0};
	struct event_sums sums = {0};
	struct event_nodes nodes;
	struct profile_reader *r;
	struct profile_event e;
	struct tree *code;

	CHECK(!tree_new(&code) && !event_sums_init(&sums) && !profile_reader_open_again(&r, done));
	CHECK(!event_nodes_init(&nodes, r, o, code));
	while (profile_reader_next(r, &e) > 0) {
		struct gather_key key = event_key(&e, o), whole = event_whole_key(&e);
		uint32_t node = TREE_ROOT_NODE;

		CHECK(!event_nodes_add_code(&nodes, &key, &node));
		CHECK(!tree_add_time(code, node, time_of(&e)));
		CHECK(!event_sums_add(&sums, &list, &whole, time_of(&e), 1));
	}
	CHECK(!event_sums_rest(&sums) && !event_sums_merge(&sums, &list));
	add_sizes(code, &sizes);
	vec_foreach (sum, &list)
		tree_sizes_add(&sizes, sum->time_ns);
	event_nodes_release(&nodes);
	vec_release(&list);
	event_sums_release(&sums);
	tree_free(code);
	profile_reader_close(r);
	return tree_sizes_least(&sizes, o->node_max);
}

static void leave_out(struct tree *t, uint64_t least)
{
	uint64_t count;

	CHECK(!tree_leave_out(t, least, &count));
}

static void check_same(struct tree *plain, struct tree *folded)
{
	struct buf expected = BUF_INIT, got = BUF_INIT;

	write_tree(plain, &expected);
	write_tree(folded, &got);
	CHECK(expected.size > 100 && !strcmp(buf_text(&expected), buf_text(&got)));
	buf_release(&expected);
	buf_release(&got);
}

static void check(const struct profile_reader *done, const struct view_options *o, bool leaves)
{
	struct view_result result = {0};
	struct tree *plain;

	CHECK(!tree_new(&plain) && !tree_new(&result.tree));
	add_plainly(done, o, plain);
	add_folded(done, o, leaves, &result);
	CHECK(!leaves || !o->node_max || result.least == plain_least(done, o));
	CHECK(!o->node_max == !result.least && !o->node_max == !result.left_out);
	if (result.least) {
		/* by what nodes have of all groups together, more of them are kept */
		CHECK(tree_node_count(result.tree) < tree_node_count(plain) / 2);
		leave_out(plain, result.least);
		if (o->by)
			leave_out(result.tree, result.least);
	}
	check_same(plain, result.tree);
	tree_free(plain);
	view_result_release(&result);
}

static struct tree *turn_round(const struct tree *t, size_t node_max)
{
	struct tree_reversed reversed;

	CHECK(!tree_reverse(t, node_max, &reversed));
	return reversed.tree;
}

static void a_loose_tree_turned_round_is_as_one_without_equal_nodes(void)
{
	static const unsigned int groups[] = {0, VIEW_BY_DEVICE | VIEW_BY_STREAM, VIEW_BY_THREAD};
	struct profile_reader *done = make_profile(in_folder("loose.xpu"));

	for (size_t g = 0; g < sizeof(groups) / sizeof(*groups); g++)
		for (size_t node_max = 0; node_max <= 200; node_max += 200) {
			struct view_options o = {.by = groups[g], .loose = true};
			struct tree *plain, *expected, *got;
			struct view_result result = {0};

			CHECK(!tree_new(&plain) && !tree_new(&result.tree));
			add_plainly(done, &o, plain);
			add_folded(done, &o, g % 2, &result);
			expected = turn_round(plain, node_max);
			got = turn_round(result.tree, node_max);
			check_same(expected, got);
			tree_free(plain);
			tree_free(expected);
			tree_free(got);
			view_result_release(&result);
		}
	profile_reader_close(done);
}

static void what_is_folded_is_the_whole_tree_without_what_is_small(void)
{
	static const unsigned int groups[] = {0, VIEW_BY_THREAD,
		VIEW_BY_PROCESS | VIEW_BY_DEVICE | VIEW_BY_STREAM, VIEW_BY_DEVICE};
	static const size_t most[] = {0, 500, 60};
	struct profile_reader *done = make_profile(in_folder("fold.xpu"));

	for (size_t g = 0; g < sizeof(groups) / sizeof(*groups); g++)
		for (size_t m = 0; m < sizeof(most) / sizeof(*most); m++) {
			struct view_options o = {.by = groups[g],
				.node_max = most[m],
				.graph_stack = g % 2 ? VIEW_GRAPH_BOTH : VIEW_GRAPH_LAUNCH};

			check(done, &o, false);
			check(done, &o, true);
		}
	profile_reader_close(done);
}

int main(void)
{
	CHECK(mkdtemp(folder));
	RUN(what_is_folded_is_the_whole_tree_without_what_is_small);
	RUN(a_loose_tree_turned_round_is_as_one_without_equal_nodes);
	CHECK(shell("rm *.xpu") && !rmdir(folder));
	return tap_end();
}
