// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/io.h"
#include "random.h"
#include "tap.h"
#include "view/fold/folded.h"

struct reading {
	struct tree *tree;
	struct folded_stats stats;
	int error;
};

static struct reading read_bytes(const void *text, size_t size)
{
	struct reading r = {0};
	int fd = memfd_create("folded", MFD_CLOEXEC);

	CHECK(fd >= 0 && !io_write_all(fd, text, size) && !lseek(fd, 0, SEEK_SET));
	CHECK(!tree_new(&r.tree));
	r.error = folded_read(r.tree, fd, "in.folded", &r.stats);
	close(fd);
	return r;
}

static struct reading read_text(const char *text)
{
	return read_bytes(text, strlen(text));
}

/* The tree as "depth name self" for each node, sorted. */
static const char *shape(struct reading *r, struct buf *b)
{
	struct tree_walk w;

	buf_reset(b);
	tree_sort(r->tree);
	for (w = tree_walk_begin(r->tree); tree_walk_next(&w);) {
		const struct tree_node *n = &tree_nodes(r->tree)[w.node];

		buf_printf(b, "%u %s %llu|", w.depth, tree_frames(r->tree)[n->frame].name,
			(unsigned long long)tree_self(r->tree, w.node));
	}
	return buf_text(b);
}

static void check_shape(const char *text, const char *expected)
{
	struct reading r = read_text(text);
	struct buf b = BUF_INIT;

	CHECK(!r.error);
	CHECK_TEXT(shape(&r, &b), expected);
	buf_release(&b);
	tree_free(r.tree);
}

static void stacks_become_paths_and_counts_add_up(void)
{
	check_shape("a;b 2\na;c 3\na;b 4\na 1\n", "1 a 1|2 b 6|2 c 3|");
}

static void shared_beginnings_are_told_from_shared_letters(void)
{
	check_shape("ab;cd 1\nab;c 2\nab;cde 3\na;b 4\nab;cd;e 5\nab;cd 6\nab 7\n",
		"1 a 0|2 b 4|1 ab 7|2 c 2|2 cd 7|3 e 5|2 cde 3|");
}

static void blanks_inside_frames_belong_to_them(void)
{
	check_shape("f(int, char const*);operator new 12\n",
		"1 f(int, char const*) 0|2 operator new 12|");
}

static void the_last_line_needs_no_end_and_lines_may_end_as_on_windows(void)
{
	check_shape("a;b 1\r\n\r\n\na;b\t5", "1 a 0|2 b 6|");
}

static void empty_frames_are_frames(void)
{
	check_shape("a;;b 1\na; 2\n;a 3\n", "1  0|2 a 3|1 a 0|2  2|3 b 1|");
}

static void a_count_of_zero_keeps_its_path(void)
{
	check_shape("a;b 0\n", "1 a 0|2 b 0|");
}

static void check_left_out(const char *line, const char *reason)
{
	struct reading r;
	char text[256];

	snprintf(text, sizeof(text), "a;b 1\n%s\n", line);
	r = read_text(text);
	CHECK(!r.error && r.stats.left_out == 1 && r.stats.first_left_out == 2);
	CHECK_TEXT(r.stats.reason ? r.stats.reason : "", reason);
	tree_free(r.tree);
}

static void lines_that_say_nothing_are_counted_with_the_first_reason(void)
{
	check_left_out("no count here", "no count at its end");
	check_left_out("17", "no count at its end");
	check_left_out(" 17", "no count at its end");
	check_left_out("a;b 1.5", "its count is not a whole number");
	check_left_out("a;b 1e3", "its count is not a whole number");
	check_left_out("a;b -1", "no count at its end");
	check_left_out("a;b 18446744073709551616", "its count needs more than 64 bits");
}

static void the_greatest_count_is_taken(void)
{
	struct reading r = read_text("a 18446744073709551615\n");

	CHECK(!r.error && tree_total(r.tree).cpu == UINT64_MAX);
	tree_free(r.tree);
}

static void check_refused(const void *text, size_t size, const char *message)
{
	struct reading r = read_bytes(text, size);

	CHECK(r.error < 0);
	CHECK_TEXT(error_text(), message);
	tree_free(r.tree);
}

static void what_is_no_folded_text_is_refused_with_file_and_line(void)
{
	check_refused("", 0, "'in.folded' is empty");
	check_refused("\n\n", 2, "'in.folded' is empty");
	check_refused("hello\n", 6,
		"'in.folded' is neither a profile nor folded text: line 1: no count at its end");
	check_refused("a 1\n\0b 2\n", 9,
		"'in.folded' is neither a profile nor folded text: line 2 has a NUL byte");
	check_refused(
		"a 18446744073709551615\nb 1\n", 27, "the sum of all times does not fit 64 bits");
}

static void a_line_without_end_is_refused_before_memory_is_short(void)
{
	size_t size = FOLDED_LINE_MAX + (2u << 20);
	char *text = malloc(size);

	memset(text, 'x', size);
	check_refused(text, size, "'in.folded' is not folded text: line 1 is longer than 64 MiB");
	free(text);
}

static void a_line_longer_than_a_block_is_read_whole(void)
{
	size_t size = (size_t)5 << 20;
	char *text = malloc(size + 4);
	struct reading r;

	memset(text, 'x', size);
	memcpy(text + size, " 42\n", 4);
	r = read_bytes(text, size + 4);
	CHECK(!r.error && tree_total(r.tree).cpu == 42 && tree_node_count(r.tree) == 2);
	CHECK(tree_frames(r.tree)[tree_nodes(r.tree)[1].frame].size == size);
	tree_free(r.tree);
	free(text);
}

static void lines_across_block_borders_give_the_same_tree(void)
{
	struct buf text = BUF_INIT;
	struct reading r;

	for (unsigned int i = 0; i < 200000; i++)
		buf_printf(&text, "main;group_%u;leaf_%u 3\n", i % 100, i % 1000);
	r = read_bytes(text.data, text.size);
	CHECK(!r.error && r.stats.lines == 200000 && !r.stats.left_out);
	CHECK(tree_node_count(r.tree) == 1 + 1 + 100 + 1000);
	CHECK(tree_total(r.tree).cpu == 600000);
	tree_free(r.tree);
	buf_release(&text);
}

/* Lines are read in groups, but a file of one line is a group of its own. */
static void many_lines_give_the_same_tree_as_one_at_a_time(void)
{
	struct reading whole, single = {0};
	struct buf text = BUF_INIT, a = BUF_INIT, b = BUF_INIT;
	int fd = memfd_create("folded", MFD_CLOEXEC);

	CHECK(fd >= 0 && !tree_new(&single.tree));
	for (unsigned int i = 0; i < 3000; i++) {
		size_t begin = text.size;

		for (uint32_t depth = random_below(12); depth; depth--)
			buf_printf(&text, "f%u;", random_below(depth % 3 ? 4 : 40));
		buf_printf(&text, "leaf_%u %u\n", random_below(9), random_below(1000));
		CHECK(!ftruncate(fd, 0) && !lseek(fd, 0, SEEK_SET) &&
			!io_write_all(fd, text.data + begin, text.size - begin) &&
			!lseek(fd, 0, SEEK_SET));
		CHECK(!folded_read(single.tree, fd, "in.folded", &single.stats));
	}
	close(fd);
	whole = read_bytes(text.data, text.size);
	CHECK(!whole.error && whole.stats.lines == 3000);
	CHECK(tree_node_count(whole.tree) > 3000);
	CHECK_TEXT(shape(&whole, &a), shape(&single, &b));
	tree_free(whole.tree);
	tree_free(single.tree);
	buf_release(&text);
	buf_release(&a);
	buf_release(&b);
}

static void stacks_deeper_than_the_limit_are_left_out(void)
{
	struct buf text = BUF_INIT;
	struct reading r;

	buf_puts(&text, "a 1\n");
	for (unsigned int i = 0; i < FOLDED_DEPTH_MAX; i++)
		buf_puts(&text, "f;");
	buf_puts(&text, "f 1\n");
	r = read_bytes(text.data, text.size);
	CHECK(!r.error && r.stats.left_out == 1 && tree_node_count(r.tree) == 2);
	tree_free(r.tree);
	buf_release(&text);
}

static void check_kind(const char *name, enum tree_kind kind)
{
	enum tree_kind found = folded_classify(name, strlen(name));

	if (found != kind)
		printf("# %s is %s\n", name, tree_kind_name(found));
	CHECK(found == kind);
}

static void frames_show_their_kind_by_marks_and_form(void)
{
	check_kind("main", TREE_C);
	check_kind("libfoo.so+0x12", TREE_C);
	check_kind("std::vector<int>::push_back(int&&)", TREE_CXX);
	check_kind("_ZN1a1bEv", TREE_CXX);
	check_kind("do_syscall_64_[k]", TREE_KERNEL);
	check_kind("train (train.py:12)", TREE_PYTHON);
	check_kind("/usr/lib/python3/abc.py", TREE_PYTHON);
	check_kind("cudaLaunchKernel", TREE_API);
	check_kind("cuMemcpyAsync", TREE_API);
	check_kind("cudaLaunch Kernel", TREE_C);
	check_kind("cutlass_gemm", TREE_C);
	check_kind("cu", TREE_C);
	check_kind("[GPU_Kernel]gemm", TREE_GPU_KERNEL);
	check_kind("[GPU12_Kernel]gemm", TREE_GPU_KERNEL);
	check_kind("[GPU_MemCopy]HtoD", TREE_GPU_COPY);
	check_kind("[GPU0_MemSet]", TREE_GPU_SET);
	check_kind("[GPU_Launch_Pending]", TREE_GPU_PENDING);
	check_kind("[GPU", TREE_NOTE);
	check_kind("kernel(float*)_[G]", TREE_GPU_SOURCE);
	check_kind("LDG.E.64_[g]", TREE_GPU_CODE);
	check_kind("[incomplete]", TREE_NOTE);
	check_kind("-", TREE_NOTE);
	check_kind("", TREE_C);
}

int main(void)
{
	RUN(stacks_become_paths_and_counts_add_up);
	RUN(shared_beginnings_are_told_from_shared_letters);
	RUN(blanks_inside_frames_belong_to_them);
	RUN(the_last_line_needs_no_end_and_lines_may_end_as_on_windows);
	RUN(empty_frames_are_frames);
	RUN(a_count_of_zero_keeps_its_path);
	RUN(lines_that_say_nothing_are_counted_with_the_first_reason);
	RUN(the_greatest_count_is_taken);
	RUN(what_is_no_folded_text_is_refused_with_file_and_line);
	RUN(a_line_without_end_is_refused_before_memory_is_short);
	RUN(a_line_longer_than_a_block_is_read_whole);
	RUN(lines_across_block_borders_give_the_same_tree);
	RUN(many_lines_give_the_same_tree_as_one_at_a_time);
	RUN(stacks_deeper_than_the_limit_are_left_out);
	RUN(frames_show_their_kind_by_marks_and_form);
	return tap_end();
}
