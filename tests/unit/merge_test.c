// SPDX-License-Identifier: MIT
/* Where Python's frames stand among the native ones. A stack is written as text here: native frames
 * as letters, capitals for evaluation loops, and a digit for what is left out with as many groups;
 * Python frames as digits, with a dot behind the outermost of each group, and an apostrophe for
 * what is left out of them, with a dot for each group that ends there. */
#include "capture/merge.h"
#include "tap.h"

struct stack {
	uint64_t native[WALK_FRAMES_MAX];
	struct walk_python_frame python[WALK_PYTHON_FRAMES_MAX];
	uint32_t native_depth;
	uint32_t python_depth;
};

#define LETTER_SHIFT 20 /* programs have no code as low as letters are */

static uint64_t parse_native(char c)
{
	if (c <= '9')
		return WALK_FRAME_PYTHON | (uint64_t)(c - '0');
	return (c < 'a' ? WALK_FRAME_PYTHON : 0) | (uint64_t)c << LETTER_SHIFT;
}

static char letter_of(uint64_t word)
{
	return walk_is_cut(word) ? '-' : (char)(word >> LETTER_SHIFT);
}

static struct stack parse(const char *native, const char *python)
{
	struct stack s = {0};

	for (; *native; native++)
		s.native[s.native_depth++] = parse_native(*native);
	for (; *python; python++)
		if (*python == '.' && walk_python_is_cut(&s.python[s.python_depth - 1]))
			s.python[s.python_depth - 1].at++;
		else if (*python == '.')
			s.python[s.python_depth - 1].at |= WALK_PYTHON_LAST;
		else if (*python == '\'')
			s.python[s.python_depth++].code = WALK_PYTHON_CUT;
		else
			s.python[s.python_depth++].code = (uint8_t)*python;
	return s;
}

static bool unplaced;
static bool python_whole = true;

static char digit_of(const struct walk_python_frame *frame)
{
	return walk_python_is_cut(frame) ? '\'' : (char)frame->code;
}

/* Leaf first. */
static const char *merge_part(
	const char *native, uint32_t first, uint32_t last, const char *python, bool whole)
{
	static char text[WALK_FRAMES_MAX + WALK_PYTHON_FRAMES_MAX + 1];
	static struct merged m;
	struct stack s = parse(native, python);
	uint32_t i;

	merge_frames(s.native, first, last, whole, s.python, s.python_depth, python_whole, &m);
	for (i = 0; i < m.count; i++)
		text[i] = m.items[i] & MERGED_PYTHON
				  ? digit_of(&s.python[m.items[i] & ~MERGED_PYTHON])
				  : letter_of(s.native[m.items[i]]);
	text[i] = '\0';
	unplaced = m.unplaced;
	return text;
}

static const char *merge(const char *native, const char *python, bool whole)
{
	return merge_part(native, 0, (uint32_t)strlen(native), python, whole);
}

static void frames_that_are_left_out_keep_the_others_with_their_loops(void)
{
	/* In one group; from one into the next; with two whole groups. */
	CHECK_TEXT(merge("LMm", "1'2.3.", true), "1'2L3Mm");
	CHECK_TEXT(merge("LMm", "1'.2.", true), "1'L2Mm");
	CHECK_TEXT(merge("LMNOm", "1'...2.", true), "1'LMN2Om");
	CHECK(!unplaced);
	/* The native side leaves out others. */
	CHECK_TEXT(merge("L2Om", "1'...2.", true), "1'L-2Om");
	CHECK(!unplaced);
}

static void a_group_stands_on_the_leaf_side_of_the_loop_that_runs_it(void)
{
	CHECK_TEXT(merge("cLm", "12.", true), "c12Lm");
	CHECK(!unplaced);
	CHECK_TEXT(merge("Lm", "1.", true), "1Lm");
}

static void each_loop_has_its_own_group(void)
{
	CHECK_TEXT(merge("cLxMyNm", "12.3.45.", true), "c12Lx3My45Nm");
	CHECK_TEXT(merge("LMN", "1.2.3.", true), "1L2M3N");
	CHECK(!unplaced);
}

static void loops_without_python_frames_stay(void)
{
	CHECK_TEXT(merge("cLxMm", "", true), "cLxMm");
	CHECK(!unplaced);
}

static void the_innermost_loops_of_a_whole_stack_may_have_no_group_yet(void)
{
	CHECK_TEXT(merge("cLxMm", "12.", true), "cLx12Mm");
	CHECK_TEXT(merge("LMN", "1.2.", true), "L1M2N");
	CHECK(!unplaced);
}

static void groups_that_were_not_reached_are_those_of_the_outermost_loops(void)
{
	CHECK_TEXT(merge("cLxMm", "12.", false), "c12LxMm");
	python_whole = false;
	CHECK_TEXT(merge("cLxMm", "12.", true), "c12LxMm");
	CHECK_TEXT(merge("cLxMm", "1.23", true), "c1Lx23Mm");
	python_whole = true;
}

static void what_is_left_when_the_native_walk_ended_early_comes_at_the_root(void)
{
	CHECK_TEXT(merge("cLx", "12.34.5.", false), "c12Lx345");
	CHECK(!unplaced);
	CHECK_TEXT(merge("c", "12.3.", false), "c123");
	CHECK_TEXT(merge("", "12.3.", false), "123");
}

static void what_is_left_of_a_whole_stack_comes_behind_its_outermost_loop_and_is_told(void)
{
	CHECK_TEXT(merge("cLxm", "12.34.", true), "c12L34xm");
	CHECK(unplaced);
	CHECK_TEXT(merge("cxm", "12.", true), "cxm12");
	CHECK(unplaced);
}

static void frames_that_are_left_out_do_not_count(void)
{
	CHECK_TEXT(merge_part("iicLxMm", 2, 5, "1.2.", false), "c1Lx2");
	CHECK_TEXT(merge_part("iicLxMm", 2, 7, "1.2.", true), "c1Lx2Mm");
}

static void what_is_left_out_in_the_middle_takes_its_groups_along(void)
{
	CHECK_TEXT(merge("cLx2Mm", "1.2.34.5.", true), "c1Lx-5Mm");
	CHECK(!unplaced);
	CHECK_TEXT(merge("cLx0Mm", "1.2.", true), "c1Lx-2Mm");
	CHECK_TEXT(merge("cLx3Mm", "1.2.", false), "c1Lx-Mm");
	/* The innermost loop has no group. */
	CHECK_TEXT(merge("cLx2Mm", "1.2.3.", true), "cLx-3Mm");
}

static void the_deepest_stacks_fit(void)
{
	char native[WALK_FRAMES_MAX + 1], python[WALK_PYTHON_FRAMES_MAX + 1];

	memset(native, 'a', sizeof(native) - 1);
	memset(python, '1', sizeof(python) - 1);
	native[sizeof(native) - 1] = python[sizeof(python) - 1] = '\0';
	CHECK(strlen(merge(native, python, false)) == WALK_FRAMES_MAX + WALK_PYTHON_FRAMES_MAX);
	native[0] = 'L';
	CHECK(strlen(merge(native, python, true)) == WALK_FRAMES_MAX + WALK_PYTHON_FRAMES_MAX);
}

int main(void)
{
	RUN(a_group_stands_on_the_leaf_side_of_the_loop_that_runs_it);
	RUN(each_loop_has_its_own_group);
	RUN(frames_that_are_left_out_keep_the_others_with_their_loops);
	RUN(what_is_left_out_in_the_middle_takes_its_groups_along);
	RUN(loops_without_python_frames_stay);
	RUN(the_innermost_loops_of_a_whole_stack_may_have_no_group_yet);
	RUN(groups_that_were_not_reached_are_those_of_the_outermost_loops);
	RUN(what_is_left_when_the_native_walk_ended_early_comes_at_the_root);
	RUN(what_is_left_of_a_whole_stack_comes_behind_its_outermost_loop_and_is_told);
	RUN(frames_that_are_left_out_do_not_count);
	RUN(the_deepest_stacks_fit);
	return tap_end();
}
