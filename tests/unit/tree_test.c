// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "trees.h"

static void a_new_tree_has_a_root_and_no_time(void)
{
	struct tree *t = new_tree();

	CHECK(tree_node_count(t) == 1);
	CHECK(tree_frames(t)[tree_nodes(t)[0].frame].kind == TREE_ROOT);
	CHECK(tree_total(t).cpu == 0 && tree_total(t).gpu == 0);
	tree_free(t);
}

static void equal_frames_are_one_and_kind_or_number_tells_them_apart(void)
{
	struct tree *t = new_tree();
	uint32_t a = child(t, 0, TREE_C, 0, "f");

	CHECK(child(t, 0, TREE_C, 0, "f") == a);
	CHECK(child(t, 0, TREE_CXX, 0, "f") != a);
	CHECK(child(t, 0, TREE_PROCESS, 1, "p") != child(t, 0, TREE_PROCESS, 2, "p"));
	CHECK(tree_node_count(t) == 5);
	tree_free(t);
}

static void a_node_with_many_children_finds_each_of_them_again(void)
{
	struct tree *t = new_tree();
	uint32_t nodes[5000];
	char name[16];

	for (int i = 0; i < 5000; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		nodes[i] = child(t, 0, TREE_C, 0, name);
	}
	for (int i = 0; i < 5000; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		if (child(t, 0, TREE_C, 0, name) != nodes[i])
			CHECK(!"found again");
	}
	CHECK(tree_node_count(t) == 5001);
	tree_free(t);
}

static void two_wide_nodes_do_not_share_children(void)
{
	struct tree *t = new_tree();
	uint32_t a = child(t, 0, TREE_C, 0, "a"), b = child(t, 0, TREE_C, 0, "b");
	char name[16];

	for (int i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		if (child(t, a, TREE_C, 0, name) == child(t, b, TREE_C, 0, name))
			CHECK(!"apart");
	}
	CHECK(tree_node_count(t) == 203);
	tree_free(t);
}

static void cpu_and_gpu_time_are_kept_apart_in_totals(void)
{
	struct tree *t = new_tree();
	uint32_t f = child(t, 0, TREE_C, 0, "f"), g = child(t, f, TREE_GPU_KERNEL, 0, "g");
	struct tree_totals totals;

	CHECK(!tree_add_time(t, f, 10));
	CHECK(!tree_add_time(t, g, 7));
	CHECK(!tree_add_time(t, f, 5));
	CHECK(tree_total(t).cpu == 15 && tree_total(t).gpu == 7);
	CHECK(!tree_totals_init(&totals, t));
	CHECK(tree_totals_of(&totals, f).cpu == 15 && tree_totals_of(&totals, f).gpu == 7);
	CHECK(tree_totals_of(&totals, g).cpu == 0 && tree_totals_of(&totals, g).gpu == 7);
	CHECK(tree_totals_of(&totals, 0).cpu == 15 && tree_totals_of(&totals, 0).gpu == 7);
	tree_totals_release(&totals);
	tree_free(t);
}

static void what_stands_on_a_gpu_frame_is_gpu_time(void)
{
	struct tree *t = new_tree();
	uint32_t f = child(t, 0, TREE_C, 0, "f"), g = child(t, f, TREE_GPU_KERNEL, 0, "g");
	uint32_t note = child(t, g, TREE_NOTE, 0, "[not sampled]");
	struct tree_totals totals;

	CHECK(!tree_add_time(t, f, 10));
	CHECK(!tree_add_time(t, note, 7));
	CHECK(tree_total(t).cpu == 10 && tree_total(t).gpu == 7);
	CHECK(!tree_totals_init(&totals, t));
	CHECK(tree_totals_of(&totals, note).gpu == 7 && tree_totals_of(&totals, g).gpu == 7 &&
		tree_totals_of(&totals, f).gpu == 7 && tree_totals_of(&totals, f).cpu == 10);
	tree_totals_release(&totals);
	tree_free(t);
}

static void a_sum_beyond_64_bits_is_refused(void)
{
	struct tree *t = new_tree();
	uint32_t f = child(t, 0, TREE_C, 0, "f"), g = child(t, 0, TREE_GPU_KERNEL, 0, "g");

	CHECK(!tree_add_time(t, f, UINT64_MAX));
	CHECK(tree_add_time(t, g, 1) == -EOVERFLOW);
	tree_free(t);
}

static void sorting_orders_siblings_by_name_at_every_depth(void)
{
	struct tree *t = new_tree();
	struct tree_walk w;
	char order[512] = "", name[16];

	for (int i = 20; i-- > 0;) {
		uint32_t parent;

		snprintf(name, sizeof(name), "%c", 'a' + i * 7 % 20);
		parent = child(t, 0, TREE_C, 0, name);
		child(t, parent, TREE_C, 0, "z");
		child(t, parent, TREE_C, 0, "zz");
		child(t, parent, TREE_C, 0, "y");
	}
	CHECK(!tree_sort(t));
	for (w = tree_walk_begin(t); tree_walk_next(&w);)
		strcat(order, tree_frames(t)[tree_nodes(t)[w.node].frame].name);
	CHECK_TEXT(order, "ayzzzbyzzzcyzzzdyzzzeyzzzfyzzzgyzzzhyzzziyzzzjyzzzkyzzzlyzzzmyzzznyzzzoy"
			  "zzzpyzzzqyzzzryzzzsyzzztyzzz");
	tree_free(t);
}

static void a_walk_can_leave_out_what_stands_on_a_node(void)
{
	struct tree *t = new_tree();
	uint32_t a = child(t, 0, TREE_C, 0, "a"), seen[8];
	struct tree_walk w = tree_walk_begin(t);
	size_t n = 0;

	child(t, a, TREE_C, 0, "above");
	child(t, 0, TREE_C, 0, "b");
	tree_sort(t);
	while (tree_walk_next(&w)) {
		seen[n++] = w.depth;
		w.skip_children = w.node == a;
	}
	CHECK(n == 2 && seen[0] == 1 && seen[1] == 1);
	tree_free(t);
}

static void a_chain_of_a_million_nodes_is_walked_without_recursion(void)
{
	struct tree *t = new_tree();
	struct tree_walk w = tree_walk_begin(t);
	uint32_t frame, node = 0;
	size_t n = 0;

	CHECK(!tree_add_frame(t, TREE_C, 0, "f", 1, &frame));
	for (int i = 0; i < 1000000; i++)
		tree_add_child(t, node, frame, &node);
	w = tree_walk_begin(t);
	while (tree_walk_next(&w))
		n++;
	CHECK(n == 1000000);
	tree_free(t);
}

static bool is_note(const struct tree_frame *f)
{
	return f->kind == TREE_NOTE;
}

static void what_stands_on_dissolved_nodes_stands_on_their_parents(void)
{
	struct tree *t = new_tree();
	uint32_t kernel = child(t, 0, TREE_GPU_KERNEL, 0, "k"), note, file;
	struct tree_totals totals;
	struct tree_walk w;

	note = child(t, kernel, TREE_NOTE, 0, "-");
	file = child(t, note, TREE_GPU_SOURCE, 0, "k.cu");
	CHECK(!tree_add_time(t, file, 5) && !tree_add_time(t, note, 2));
	CHECK(!tree_add_time(
		t, child(t, child(t, note, TREE_NOTE, 0, "-"), TREE_GPU_SOURCE, 0, "l.cu"), 4));
	CHECK(!tree_add_time(t, child(t, kernel, TREE_GPU_SOURCE, 0, "beside"), 1));
	tree_dissolve(t, is_note);
	CHECK(!tree_totals_init(&totals, t));
	CHECK(tree_totals_of(&totals, kernel).gpu == 12 && tree_totals_of(&totals, note).gpu == 0 &&
		tree_self(t, kernel) == 2);
	CHECK(tree_nodes(t)[file].parent == kernel);
	w = tree_walk_begin(t);
	for (int n = 0; n < 4; n++)
		CHECK(tree_walk_next(&w) && w.node != note && w.depth == (n ? 2 : 1));
	CHECK(!tree_walk_next(&w));
	tree_totals_release(&totals);
	tree_free(t);
}

static void time_of_a_kind_is_raised_to_a_child_of_each_of_its_nodes(void)
{
	struct tree *t;
	uint32_t frame, note, nodes[3], child;

	CHECK(!tree_new(&t));
	CHECK(!tree_add_frame(t, TREE_NOTE, 0, "[note]", 6, &note));
	for (uint32_t n = 0; n < 3; n++) {
		enum tree_kind kind = n == 1 ? TREE_GPU_COPY : TREE_GPU_KERNEL;

		CHECK(!tree_add_frame(t, kind, 0, n ? "b" : "a", 1, &frame));
		CHECK(!tree_add_child(t, TREE_ROOT_NODE, frame, &nodes[n]));
		CHECK(!tree_add_time(t, nodes[n], n < 2 ? 5 + n : 0));
	}
	CHECK(!tree_raise(t, TREE_GPU_KERNEL, note));
	CHECK(tree_node_count(t) == 5 && tree_self(t, nodes[0]) == 0);
	CHECK(!tree_add_child(t, nodes[0], note, &child) && tree_node_count(t) == 5);
	CHECK(tree_self(t, child) == 5 && tree_nodes(t)[child].gpu);
	CHECK(tree_self(t, nodes[1]) == 6 && !tree_nodes(t)[nodes[2]].first_child);
	CHECK(tree_total(t).gpu == 11 && tree_total(t).cpu == 0);
	tree_free(t);
}

int main(void)
{
	RUN(a_new_tree_has_a_root_and_no_time);
	RUN(equal_frames_are_one_and_kind_or_number_tells_them_apart);
	RUN(a_node_with_many_children_finds_each_of_them_again);
	RUN(two_wide_nodes_do_not_share_children);
	RUN(cpu_and_gpu_time_are_kept_apart_in_totals);
	RUN(what_stands_on_a_gpu_frame_is_gpu_time);
	RUN(a_sum_beyond_64_bits_is_refused);
	RUN(sorting_orders_siblings_by_name_at_every_depth);
	RUN(a_walk_can_leave_out_what_stands_on_a_node);
	RUN(a_chain_of_a_million_nodes_is_walked_without_recursion);
	RUN(what_stands_on_dissolved_nodes_stands_on_their_parents);
	RUN(time_of_a_kind_is_raised_to_a_child_of_each_of_its_nodes);
	return tap_end();
}
