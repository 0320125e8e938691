// SPDX-License-Identifier: MIT
/* Trees turned round, beside a twin that turns each path round by itself. */
#include "view/tree/reverse.h"

#include "random.h"
#include "trees.h"

#define PATHS  3000
#define FRAMES 12
#define LEVELS 9

static void reversed_paths_begin_at_their_leaves_with_the_same_times(void)
{
	struct tree_reversed turned;
	struct tree *t = new_tree(), *reversed;
	uint32_t a = child(t, 0, TREE_C, 0, "a"), b = child(t, 0, TREE_C, 0, "b"), root, leaf;
	struct tree_totals totals;

	CHECK(!tree_add_time(t, child(t, a, TREE_C, 0, "leaf"), 5));
	CHECK(!tree_add_time(t, child(t, b, TREE_C, 0, "leaf"), 7));
	CHECK(!tree_add_time(t, a, 1));
	CHECK(!tree_add_time(t, child(t, b, TREE_GPU_KERNEL, 0, "k"), 20));
	child(t, b, TREE_C, 0, "nothing");
	CHECK(!tree_reverse(t, 0, &turned));
	CHECK(turned.least == 1 && !turned.left_out);
	reversed = turned.tree;
	CHECK(tree_node_count(reversed) == 7 && tree_total(reversed).cpu == 13 &&
		tree_total(reversed).gpu == 20);
	leaf = child(reversed, 0, TREE_C, 0, "leaf");
	CHECK(!tree_totals_init(&totals, reversed));
	CHECK(tree_totals_of(&totals, leaf).cpu == 12 &&
		tree_totals_of(&totals, child(reversed, leaf, TREE_C, 0, "b")).cpu == 7);
	root = child(reversed, child(reversed, 0, TREE_GPU_KERNEL, 0, "k"), TREE_C, 0, "b");
	CHECK(tree_totals_of(&totals, root).gpu == 20 && tree_totals_of(&totals, root).cpu == 0 &&
		tree_self(reversed, root) == 20);
	CHECK(tree_totals_of(&totals, child(reversed, 0, TREE_C, 0, "a")).cpu == 1);
	CHECK(tree_node_count(reversed) == 7);
	tree_totals_release(&totals);
	tree_free(reversed);
	tree_free(t);
}

/* Functions that call each other and themselves, and work on a GPU that some of them ask for; most
 * of the time is in few paths. */
static struct tree *make_tree(bool samples)
{
	struct tree *t = new_tree();
	char name[16];

	for (int path = 0; path < PATHS; path++) {
		uint32_t depth = 1 + random_below(LEVELS), node = TREE_ROOT_NODE;
		bool gpu = !samples && !random_below(3);

		for (uint32_t level = 0; level < depth; level++) {
			snprintf(name, sizeof(name), "f%u", random_below(1 + random_below(FRAMES)));
			node = child(t, node, TREE_C, 0, name);
		}
		if (gpu)
			node = child(t, node, TREE_GPU_KERNEL, 0, name);
		CHECK(!tree_add_time(t, node, 1 + random_below(1 << random_below(20))));
		if (samples)
			CHECK(!tree_add_samples(t, node, 1 + random_below(3)));
	}
	return t;
}

static struct tree *reverse_plainly(const struct tree *t)
{
	struct tree *reversed = new_tree();

	for (uint32_t n = 1; n < tree_node_count(t); n++) {
		uint64_t self = tree_self(t, n);
		uint32_t at = TREE_ROOT_NODE;

		for (uint32_t from = n; self && from; from = tree_nodes(t)[from].parent) {
			const struct tree_frame *f = &tree_frames(t)[tree_nodes(t)[from].frame];

			at = child(reversed, at, f->kind, f->number, f->name);
		}
		CHECK(!tree_add_time(reversed, at, self));
		if (tree_has_samples(t))
			CHECK(!tree_add_samples(reversed, at, tree_samples(t, n)));
	}
	return reversed;
}

/* As it is done with whole trees. Returns the least. */
static uint64_t leave_out_plainly(struct tree *t, size_t node_max, uint64_t *ret_count)
{
	struct tree_sizes sizes = {0};
	struct tree_totals totals;
	uint64_t least;

	CHECK(!tree_totals_init(&totals, t));
	for (uint32_t n = 1; n < tree_node_count(t); n++) {
		struct tree_time own = tree_totals_of(&totals, n);

		tree_sizes_add(&sizes, own.cpu + own.gpu);
	}
	tree_totals_release(&totals);
	least = node_max ? tree_sizes_least(&sizes, node_max) : 1;
	*ret_count = 0;
	if (least > 1)
		CHECK(!tree_leave_out(t, least, ret_count));
	return least;
}

static void check_same(struct tree *a, struct tree *b)
{
	struct buf expected = BUF_INIT, got = BUF_INIT;

	write_tree(a, &expected);
	write_tree(b, &got);
	CHECK(expected.size > 20 && !strcmp(buf_text(&expected), buf_text(&got)));
	CHECK(tree_total(a).cpu == tree_total(b).cpu && tree_total(a).gpu == tree_total(b).gpu);
	buf_release(&expected);
	buf_release(&got);
}

static void check(const struct tree *t, size_t node_max)
{
	struct tree *plain = reverse_plainly(t);
	struct tree_reversed turned;
	uint64_t count, least = leave_out_plainly(plain, node_max, &count);

	CHECK(!tree_reverse(t, node_max, &turned));
	CHECK(turned.least == least && !turned.left_out == !count && turned.left_out <= count);
	check_same(plain, turned.tree);
	tree_free(plain);
	tree_free(turned.tree);
}

static void only_what_is_kept_is_made_and_it_is_as_in_the_whole(void)
{
	static const size_t most[] = {0, 1, 2, 10, 100, 1000, 5000, 1000000};

	for (int samples = 0; samples < 2; samples++) {
		struct tree *t = make_tree(samples);

		for (size_t n = 0; n < sizeof(most) / sizeof(*most); n++)
			check(t, most[n]);
		tree_free(t);
	}
}

static void joined_times_stay_one_time(void)
{
	struct tree_reversed turned;
	struct tree *t = new_tree();

	tree_join_times(t);
	CHECK(!tree_add_time(t, child(t, child(t, 0, TREE_C, 0, "a"), TREE_GPU_KERNEL, 0, "k"), 3));
	CHECK(!tree_reverse(t, 0, &turned));
	CHECK(tree_total(turned.tree).cpu == 3 && !tree_total(turned.tree).gpu);
	tree_free(turned.tree);
	tree_free(t);
}

static void nothing_turned_round_is_nothing(void)
{
	struct tree_reversed turned;
	struct tree *t = new_tree();

	CHECK(!tree_reverse(t, 10, &turned));
	CHECK(tree_node_count(turned.tree) == 1 && turned.least == 1);
	tree_free(turned.tree);
	tree_free(t);
}

int main(void)
{
	RUN(reversed_paths_begin_at_their_leaves_with_the_same_times);
	RUN(only_what_is_kept_is_made_and_it_is_as_in_the_whole);
	RUN(joined_times_stay_one_time);
	RUN(nothing_turned_round_is_nothing);
	return tap_end();
}
