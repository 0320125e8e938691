// SPDX-License-Identifier: MIT
/*
 * Probes in PTX, as text: what is put where. Whether assemblers take it is tests/cli/ptx.t's
 * question, and whether it computes what it should tests/unit/sim_ptx_probe_test.c's.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "ptx/module.h"
#include "ptx/splice.h"
#include "tap.h"

#define HEAD ".version 8.0\n.target sm_80\n.address_size 64\n"

static size_t count(const char *text, const char *part)
{
	size_t n = 0;

	for (; (text = strstr(text, part)); text += strlen(part))
		n++;
	return n;
}

/* The least that is not left out. */
#define DOES "{ membar.gl; }"

static struct ptx_body body(enum ptx_site site, const char *text)
{
	return (struct ptx_body){.site = site, .pair = PTX_NO_PAIR, .kernels = "*", .text = text};
}

/* Splices one body; the text is "" where that is refused. */
static struct ptx_spliced splice(const char *text, const struct ptx_body *bodies, size_t n)
{
	struct ptx_probes probes = {.bodies = bodies, .body_count = n};
	struct ptx_spliced s = {0};

	(void)ptx_splice(text, strlen(text), &probes, &s);
	return s;
}

/* The error of splicing an exit into it. */
static int refused(const char *text)
{
	struct ptx_body b = body(PTX_AT_EXIT, DOES);
	struct ptx_probes probes = {.bodies = &b, .body_count = 1};
	struct ptx_spliced s = {0};
	int error = ptx_splice(text, strlen(text), &probes, &s);

	ptx_spliced_release(&s);
	return error;
}

static void every_way_out_has_the_exit_before_a_return_of_its_own(void)
{
	static const char text[] = HEAD
		".visible .entry k(.param .u64 a)\n{\n	.reg .pred %p<3>;\n	@%p1 bra L;\n"
		"	{ { @!%p2 exit; } // ret;\n	/* ret; */ @%p1 ret.uni; }\nL:	ret;\n}\n";
	struct ptx_body b = body(PTX_AT_EXIT, "{ membar.gl; // BODY\n}");
	struct ptx_spliced s = splice(text, &b, 1);

	CHECK(count(buf_text(&s.text), "// BODY") == 4 &&
		count(buf_text(&s.text), "\tret;\n") == 4);
	/* Lanes that leave early must not wait for the others: nothing leads to where they
	 * leave. */
	CHECK(!strstr(buf_text(&s.text), "bra L;") && !strstr(buf_text(&s.text), "exit;"));
	CHECK(count(buf_text(&s.text), "{\n	@!%p1 bra xpu_stay;\n") == 2);
	CHECK(count(buf_text(&s.text), "{\n	@%p2 bra xpu_stay;\n") == 1);
	CHECK(count(buf_text(&s.text), "	ret;\nxpu_stay:\n	}") == 3);
	CHECK(count(buf_text(&s.text), "// ret;") == 1 &&
		count(buf_text(&s.text), "/* ret; */") == 1);
	CHECK(strstr(buf_text(&s.text), "	ret;\n\n}\n"));
	CHECK(s.kernels.count == 1 && s.kernels.items[0].returns == 4);
	ptx_spliced_release(&s);
}

static uint32_t returns_of(const char *text)
{
	struct ptx_body b = body(PTX_AT_EXIT, DOES);
	struct ptx_spliced s = splice(text, &b, 1);
	uint32_t returns = s.kernels.count == 1 ? s.kernels.items[0].returns : 0;

	ptx_spliced_release(&s);
	return returns;
}

#define KERNEL(...) HEAD ".entry k()\n{\n" __VA_ARGS__ "}\n"

static void a_branch_leaves_where_nothing_but_a_return_is_behind_its_label(void)
{
	CHECK(returns_of(KERNEL("bra L; L: ret;")) == 2);
	CHECK(returns_of(KERNEL("bra.uni L; { L: M:\n.loc 1 2 3\n} exit;")) == 2);
	CHECK(returns_of(KERNEL("bra L; L: ")) == 1);
	CHECK(returns_of(KERNEL("bra L; L: @%p ret; ret;")) == 2);
	CHECK(returns_of(KERNEL("bra L; L: add.u32 %r, %r, 1; ret;")) == 1);
	CHECK(returns_of(KERNEL("bra LL; L: ret; LL: bar.sync 0; ret;")) == 2);
	/* which of the two it is depends on where it stands */
	CHECK(returns_of(KERNEL("bra L; { L: bar.sync 0; } L: ret;")) == 1);
}

static void the_end_of_a_body_is_a_way_out_where_execution_comes_there(void)
{
	struct ptx_body b = body(PTX_AT_EXIT, "{ membar.gl; // BODY\n}");
	struct ptx_spliced s = splice(KERNEL("bar.sync 0;"), &b, 1),
			   t = splice(KERNEL("ret; L: "), &b, 1),
			   u = splice(KERNEL("bar.sync 0; ret;"), &b, 1);

	CHECK(count(buf_text(&s.text), "// BODY") == 1);
	CHECK(count(buf_text(&t.text), "// BODY") == 2);
	CHECK(count(buf_text(&u.text), "// BODY") == 1);
	ptx_spliced_release(&s);
	ptx_spliced_release(&t);
	ptx_spliced_release(&u);
}

/* How many ways out have the exit, and how many are not seen. */
static void ways(const char *text, size_t ret[2])
{
	struct ptx_body b = body(PTX_AT_EXIT, "{ membar.gl; // BODY\n}");
	struct buf whole = BUF_INIT;
	struct ptx_spliced s;

	buf_printf(&whole, HEAD "%s\n", text);
	s = splice(buf_text(&whole), &b, 1);
	ret[0] = count(buf_text(&s.text), "// BODY");
	ret[1] = s.unseen_exits;
	CHECK(s.text.size > 0);
	ptx_spliced_release(&s);
	buf_release(&whole);
}

/* What stands behind the exit, up to where the text ends. */
static bool is_behind_exit(const char *kernel, const char *behind)
{
	struct ptx_body b = body(PTX_AT_EXIT, "{ membar.gl; // BODY\n}");
	struct buf whole = BUF_INIT;
	struct ptx_spliced s;
	const char *at;
	bool is;

	buf_printf(&whole, HEAD "%s\n", kernel);
	s = splice(buf_text(&whole), &b, 1);
	at = strstr(buf_text(&s.text), "// BODY");
	at = at ? strstr(at, "xpu_past:\n\t}\n") : NULL;
	is = at && !strcmp(at + strlen("xpu_past:\n\t}\n"), behind);
	ptx_spliced_release(&s);
	buf_release(&whole);
	return is;
}

static void lanes_that_leave_a_loop_in_which_others_wait_have_the_exit_in_front(void)
{
	CHECK(is_behind_exit(
		".entry k()\n{\nL:	@%p bra D;\n	bar.sync 0;\n	bra L;\nD:	ret;\n}",
		"@%p ret;\n	bar.sync 0;\n	bra L;\nD:	ret;\n}\n"));
	CHECK(is_behind_exit(".entry k()\n{\nL:	bar.sync 0;\n	@!%p bra L;\n	ret;\n}",
		"@!%p bra L;\n	ret;\n}\n"));
}

static void nothing_comes_between_a_loop_in_which_lanes_wait_and_the_end(void)
{
	static const struct {
		const char *text;
		size_t with, without;
	} kernels[] = {
		{".entry k()\n{\nL:	@%p bra D;\n	bar.sync 0;\n	bra L;\nD:	ret;\n}", 1,
			0},
		{".entry k()\n{\nL:	@!%p ret;\n	bar.sync 0;\n	bra.uni L;\n}", 1, 0},
		{".entry k()\n{\n	@%q bra D;\nL:	vote.sync.all.pred %p, %p, -1;\n"
		 "	@%p bra L;\nD:	ret;\n}",
			2, 0},
		{".entry k()\n{\nL:	bar.sync 0;\n	@%p bra L;\n}", 1, 0},
		/* Not in the loop, as it does not lead back; one more is where nobody comes. */
		{".entry k()\n{\nL:	@%p bra M;\n	bar.sync 0;\n	ret;\nM:	bra L;\n}",
			2, 0},
		{".entry k()\n{\nL:	bar.sync 0;\n	@%p bra M;\n	st.global.u32 [%a], 1;"
		 "\n	ret;\nM:	bra L;\n}",
			1, 0},
		/* Branches that the compiler has not joined. */
		{".entry k()\n{\nL:	bar.sync 0;\n	@%p bra M;\n	bra.uni N;\nN:	"
		 "bra.uni D;\nM:	bra L;\nD:	ret;\n}",
			2, 0},
		{".entry k()\n{\nL:	@%p bra N;\n	bar.sync 0;\n	bra.uni L;\nN:	"
		 "bra.uni D;\nM:	add.u32 %r, %r, 1;\nD:	ret;\n}",
			2, 0},
		/* It waits in a part that is elsewhere. */
		{".entry k()\n{\nL:	@%q ret;\n	bra W;\nB:	@%p bra L;\n	trap;\n"
		 "W:	bar.sync 0;\n	bra B;\n}",
			1, 0},
		/* Others come to the end of the loop by a way that does not have its programs. */
		{".entry k()\n{\nT: .branchtargets L, D;\n	brx.idx %r, T;\nL:	"
		 "bar.sync 0;\n	@%p bra L;\nD:	ret;\n}",
			1, 1},
		{".entry k()\n{\nT: .branchtargets L, D;\n	brx.idx %r, T;\nL:	"
		 "bar.sync 0;\n	@%p ret;\n	bra L;\nD:	ret;\n}",
			2, 0},
		/* Which lanes leave is not known in front of it. */
		{".entry k()\n{\nL:	bar.sync 0;\nT: .branchtargets L, D;\n	"
		 "brx.idx %r, T;\n	trap;\nD:	ret;\n}",
			0, 1},
		/* Nobody waits in it. */
		{".entry k()\n{\nL:	@%p bra D;\n	add.u32 %r, %r, 1;\n	bra L;\nD:	"
		 "ret;\n}",
			2, 0},
		/* Nor in a loop of another place. */
		{".entry k()\n{\nL:	@%p bra L;\n	bar.sync 0;\n	ret;\n}", 1, 0},
		/* There is something to do behind it. */
		{".entry k()\n{\nL:	bar.sync 0;\n	@%p bra L;\n	st.global.u32 [%a], 1;\n"
		 "	ret;\n}",
			1, 0},
		/* A computed branch leads where its table says. */
		{".entry k()\n{\n	@%p ret;\n	bar.sync 0;\nT: .branchtargets A, B;\n"
		 "	brx.idx %r, T;\nA:	ret;\nB:	ret;\n}",
			3, 0},
		{".entry k()\n{\nA:	@%p ret;\n	bar.sync 0;\nT: .branchtargets B, A;\n"
		 "	brx.idx %r, T;\nB:	ret;\n}",
			1, 1},
		/* What is called waits. */
		{".func f()\n{\n	bar.sync 0;\n	ret;\n}\n"
		 ".entry k()\n{\nL:	call f;\n	@%p bra L;\n	ret;\n}",
			1, 0},
		{".func f()\n{\n	ret;\n}\n.entry k()\n{\nL:	call f;\n	@%p bra "
		 "L;\n	ret;\n}",
			1, 0},
	};

	for (size_t i = 0; i < sizeof(kernels) / sizeof(*kernels); i++) {
		size_t found[2];

		ways(kernels[i].text, found);
		CHECK(found[0] == kernels[i].with && found[1] == kernels[i].without);
	}
}

static void words_that_only_contain_ret_are_left_alone(void)
{
	static const char text[] =
		HEAD ".visible .entry ret1(.param .u64 exit_param)\n{\n	.reg .b64 %ret<2>;\n"
		     "	ld.param.u64 %ret1, [exit_param];\nret_2:\n	bra.uni "
		     "ret_3;\nret_3:\n	add.u64 %ret1, %ret1, 1;\n	ret;\n}\n";
	struct ptx_body b = body(PTX_AT_EXIT, DOES);
	struct ptx_spliced s = splice(text, &b, 1);

	CHECK(s.kernels.count == 1 && s.kernels.items[0].returns == 1);
	CHECK(strstr(buf_text(&s.text), "ret_2:\n	bra.uni ret_3;\nret_3:\n	add"));
	ptx_spliced_release(&s);
}

static void an_exit_in_a_function_that_is_called_is_counted_as_not_seen(void)
{
	static const char text[] =
		HEAD ".func f()\n{\n	.reg .b64 %r<2>;\n	exit;\n	ld.global.u64 %r1, "
		     "[%r1];\n	ret;\n}\n"
		     ".visible .entry k()\n{\n	call.uni f, ();\n	ret;\n}\n";
	struct ptx_body b = body(PTX_AT_EXIT, DOES);
	struct ptx_spliced s = splice(text, &b, 1);

	CHECK(s.unseen_exits == 1 && s.unseen_accesses == 1);
	CHECK(strstr(buf_text(&s.text), "	exit;\n	ld.global.u64 %r1, [%r1];\n	ret;\n}"));
	ptx_spliced_release(&s);
}

static void an_element_of_a_variable_by_its_number_is_counted_as_not_seen(void)
{
	struct ptx_body b = body(PTX_AT_ACCESS, "{ add.u64 %a, %xpu_addr, 0; membar.gl; }");
	struct ptx_spliced s =
		splice(HEAD ".global .u32 g[8];\n.entry k()\n{\n	ld.global.u32 %r1, g[3];\n"
			    "	st.global.u32 g [2], %r1;\n	st.global.u32 [g+8], %r1;\n"
			    "	ret;\n}\n",
			&b, 1);

	CHECK(s.lines.count == 1 && s.unseen_accesses == 2);
	CHECK(count(buf_text(&s.text), "mov.u64 %xpu_addr, g;") == 1);
	CHECK(!strstr(buf_text(&s.text), "mov.u64 %xpu_addr, 3;"));
	ptx_spliced_release(&s);
}

/* Of a module with f, which has an exit and is called by g; and a kernel k that does this. */
static uint32_t unseen_exits(const char *does, const char *kernel)
{
	struct ptx_body b = body(PTX_AT_EXIT, DOES);
	struct ptx_spliced s;
	char text[1024];
	uint32_t n;

	snprintf(text, sizeof(text),
		HEAD ".func (.param .b32 r) f(.param .b32 p)\n{\n	exit;\n	exit;\n}\n"
		     ".func g(.param .b64 p)\n{\n	call.uni (x), f, (y);\n	call g, (p);\n"
		     "	ret;\n}\n.visible .entry k()\n{\n	%s\n	ret;\n}\n"
		     ".visible .entry other()\n{\n	call g, (p);\n	ret;\n}\n",
		does);
	b.kernels = kernel;
	s = splice(text, &b, 1);
	CHECK(s.kernels.count == 1);
	n = s.unseen_exits;
	ptx_spliced_release(&s);
	return n;
}

static void functions_that_the_probed_kernels_do_not_call_are_not_counted(void)
{
	CHECK(unseen_exits("bar.sync 0;", "k") == 0);
	CHECK(unseen_exits("bar.sync 0;", "other") == 2);
	CHECK(unseen_exits("call (r), f, (p);", "k") == 2);
	CHECK(unseen_exits("@%p1 call.uni g, (p);", "k") == 2);
	CHECK(unseen_exits("call vprintf, (p);", "k") == 0);
	/* By an address. */
	CHECK(unseen_exits("call (r), %rd1, (p), prototype;", "k") == 2);
}

static const char accesses[] =
	HEAD ".global .u32 g;\n"
	     ".visible .entry k(.param .u64 a)\n{\n"
	     "	ld.param.u64 %rd1, [a];\n"
	     "	ld.shared.u32 %r1, [%r2];\n"
	     "	ld.local.u32 %r1, [%rd2];\n"
	     "	ld.const.u32 %r1, [%rd2];\n"
	     "	st.shared::cta.u32 [%r2], %r1;\n"
	     "	atom.shared.add.u32 %r1, [%r2], %r3;\n"
	     "	ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd3+-16];\n"
	     "	@%p1 st.volatile.global.u8 [%rd4 + 0x10], %r1;\n"
	     "	ld.u64 %rd5, [%rd6];\n"
	     "	red.relaxed.gpu.global.add.f64 [%rd7], %fd1;\n"
	     "	atom.global.cas.b16 %rs1, [%rd8], %rs2, %rs3;\n"
	     "	ld.global.L2::cache_hint.v2.b64 {%rd1, %rd2}, [%rd9], %rd10;\n"
	     "	cp.async.ca.shared.global.L2::128B [%r1], [%rd11], 8, 4;\n"
	     "	cp.async.commit_group;\n"
	     "	ld.global.u32 %r1, [g];\n"
	     "	cp.async.bulk.commit_group;\n"
	     "	ret;\n}\n";

struct expected {
	uint32_t bytes, kind;
};

static void each_access_to_global_memory_is_seen_with_its_size_and_kind(void)
{
	static const struct expected expected[] = {
		{16, PTX_READS},
		{1, PTX_WRITES | PTX_VOLATILE},
		{8, PTX_READS},
		{8, PTX_WRITES | PTX_ATOMIC},
		{2, PTX_READS | PTX_WRITES | PTX_ATOMIC},
		{16, PTX_READS},
		{0, PTX_READS | PTX_ASYNC},
		{4, PTX_READS},
	};
	struct ptx_body b =
		body(PTX_AT_ACCESS, "{ membar.gl; // at %xpu_addr, %xpu_size\n add.u64 %a, "
				    "%xpu_addr, 0; mov.u32 %b, %xpu_size; }");
	struct ptx_spliced s = splice(accesses, &b, 1);

	CHECK(s.lines.count == sizeof(expected) / sizeof(*expected));
	for (size_t i = 0; i < s.lines.count; i++) {
		CHECK(s.lines.items[i].insn == i);
		CHECK(s.lines.items[i].bytes == expected[i].bytes);
		CHECK(s.lines.items[i].kind == expected[i].kind);
	}
	CHECK(strstr(buf_text(&s.text), "mov.u64 %xpu_at0, %rd3;\n"));
	CHECK(strstr(buf_text(&s.text),
		"mov.u64 %xpu_addr, %xpu_at0;\n	add.s64 %xpu_addr, %xpu_addr, -16;"));
	CHECK(strstr(buf_text(&s.text), "	@!%p1 bra xpu_past;\n"));
	CHECK(count(buf_text(&s.text), "isspacep.global %xpu_p") == 1);
	CHECK(strstr(buf_text(&s.text), "mov.u64 %xpu_at0, g;"));
	CHECK(strstr(buf_text(&s.text), "mov.u64 %xpu_addr, %rd11;"));
	CHECK(strstr(buf_text(&s.text), "mov.b32 %xpu_size, 8;"));
	ptx_spliced_release(&s);
}

static void loads_and_stores_can_be_chosen_and_keep_their_numbers(void)
{
	struct ptx_body loads = body(PTX_AT_LOAD, DOES), stores = body(PTX_AT_STORE, DOES);
	struct ptx_spliced l = splice(accesses, &loads, 1), s = splice(accesses, &stores, 1);

	CHECK(l.lines.count == 4 && s.lines.count == 1);
	if (l.lines.count == 4 && s.lines.count == 1) {
		CHECK(l.lines.items[1].insn == 2 && l.lines.items[3].insn == 7);
		CHECK(s.lines.items[0].insn == 1);
	}
	ptx_spliced_release(&l);
	ptx_spliced_release(&s);
}

static void an_access_knows_its_source_line_which_holds_behind_the_probe(void)
{
	static const char text[] =
		HEAD ".visible .entry k(.param .u64 a)\n{\n	.loc	1 7 0\n"
		     "	.loc	2 31 5, function_name $L__info0, inlined_at 1 9 3\n"
		     "	ld.global.u32 %r1, [%rd1];\n	ret;\n}\n"
		     "	.file	1 \"a.cu\"\n	.file	2 \"b.h\", 12, 34\n";
	struct ptx_body b = body(PTX_AT_LOAD, DOES);
	struct ptx_spliced s = splice(text, &b, 1);

	CHECK(s.lines.count == 1 && s.lines.items[0].file == 2 && s.lines.items[0].line == 31);
	CHECK(s.files.count == 2 && !strcmp(s.files.items[1].path, "b.h"));
	CHECK(strstr(buf_text(&s.text), ".file 3 \"" PTX_PROBE_FILE "\"\n"));
	CHECK(count(buf_text(&s.text), ".loc	3 1 0\n") == 2);
	CHECK(strstr(buf_text(&s.text),
		"xpu_past:\n	}\n	.loc	2 31 5, function_name $L__info0, inlined_at 1 9 3\n"
		"\n	ret;"));
	ptx_spliced_release(&s);
}

static void the_line_behind_loads_is_that_of_the_last_of_them(void)
{
	static const char text[] =
		HEAD ".visible .entry k(.param .u64 a)\n{\n	.loc	1 7 0\n"
		     "	ld.global.u32 %r1, [%rd1];\n	.loc	1 8 0\n"
		     "	ld.global.u32 %r2, [%rd2];\n	.loc	1 9 0\n"
		     "	add.u32 %r1, %r1, %r2;\n	ret;\n}\n	.file	1 \"a.cu\"\n";
	struct ptx_body b = body(PTX_AT_LOAD, DOES);
	struct ptx_spliced s = splice(text, &b, 1);

	CHECK(s.lines.count == 2 && s.lines.items[0].line == 7 && s.lines.items[1].line == 8);
	CHECK(strstr(
		buf_text(&s.text), "xpu_off:\n	}\n	.loc	1 8 0\n\n	.loc	1 9 0\n"));
	ptx_spliced_release(&s);
}

/* Of two loads with this between them: whether the first one's body stands before that. */
static bool stands_before(const char *between, const char *what)
{
	struct ptx_body b = body(PTX_AT_LOAD, "{ membar.gl; // BODY\n}");
	struct ptx_spliced s;
	const char *at;
	char text[1024];
	bool before;

	snprintf(text, sizeof(text),
		HEAD ".visible .entry k(.param .u64 a)\n{\n	ld.global.u32 %%r1, [%%rd1];\n"
		     "	%s\n	ld.global.u32 %%r2, [%%rd2];\n	ret;\n}\n",
		between);
	s = splice(text, &b, 1);
	CHECK(count(buf_text(&s.text), "// BODY") == 2u + !!strstr(between, "volatile"));
	at = strstr(buf_text(&s.text), "// BODY");
	before = at && at < strstr(buf_text(&s.text), what);
	/* Behind the load that it is of. */
	CHECK(at && at > strstr(buf_text(&s.text), "ld.global.u32 %r1"));
	ptx_spliced_release(&s);
	return before;
}

static void check_place(const char *between, bool good)
{
	if (!good)
		printf("# %s\n", between);
	CHECK(good);
}

static void bodies_of_loads_stand_together_behind_the_last_of_a_straight_piece(void)
{
	static const char *const ends[] = {"@%p1 bra L;", "L:", "bar.sync 0;",
		"barrier.sync 0, 32;", "vote.sync.any.pred %p1, %p2, %r3;", "@%p1 ret;",
		"@%p1 exit;", "call f, (p);", "st.global.u32 [%rd3], %r4;", "st.u32 [%rd3], %r4;",
		"red.global.add.u32 [%rd3], 1;", "activemask.b32 %r4;", "membar.sys;",
		"fence.acq_rel.gpu;", "shfl.sync.idx.b32 %r4, %r4, 0, 31, %r5;",
		"cp.async.ca.shared.global [%r3], [%rd3], 4;", "brx.idx %r4, T;", "trap;",
		"ld.volatile.global.u32 %r4, [%rd3];"};
	static const char *const stays[] = {"add.u64 %rd2, %rd2, %rd3;", "",
		"st.shared.u32 [%r3], %r4;", "ld.shared.u32 %r4, [%r3];", "{ .reg .b32 %t; }",
		"// bra", "mov.u32 %r4, %laneid;", "@%p1 mov.u32 %r4, 1;"};

	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		check_place(ends[i], stands_before(ends[i], ends[i]));
	for (size_t i = 0; i < sizeof(stays) / sizeof(*stays); i++)
		check_place(stays[i], !stands_before(stays[i], "ld.global.u32 %r2"));
}

static void a_body_that_ends_threads_stands_before_its_load(void)
{
	struct ptx_body b = body(PTX_AT_LOAD, "{ exit; // BODY\n}");
	struct ptx_spliced s = splice(accesses, &b, 1);

	CHECK(strstr(buf_text(&s.text), "// BODY") < strstr(buf_text(&s.text), "ld.global.v4"));
	CHECK(!strstr(buf_text(&s.text), "mov.u64 %xpu_at"));
	ptx_spliced_release(&s);
}

/* No more than there are registers for. */
static void bodies_of_many_loads_stand_in_several_places(void)
{
	struct ptx_body b =
		body(PTX_AT_LOAD, "{ .reg .b64 %a; mov.u64 %a, %xpu_addr; membar.gl;\n}");
	struct buf text = {0};
	struct ptx_spliced s;

	buf_puts(&text, HEAD ".visible .entry k(.param .u64 a)\n{\n");
	for (int i = 0; i < 20; i++)
		buf_puts(&text, "	ld.global.u32 %r1, [%rd1];\n");
	buf_puts(&text, "	ret;\n}\n");
	s = splice(buf_text(&text), &b, 1);
	CHECK(s.lines.count == 20 && s.kernels.items[0].accesses == 20);
	CHECK(count(buf_text(&s.text), "membar.gl;") == 20);
	CHECK(count(buf_text(&s.text), "xpu_off:") == 3);
	CHECK(count(buf_text(&s.text), "mov.u64 %xpu_at7,") == 2);
	ptx_spliced_release(&s);
	buf_release(&text);
}

static void what_no_body_needs_is_not_kept_behind_a_load(void)
{
	static const char text[] =
		HEAD ".visible .entry k(.param .u64 a)\n{\n	@%p1 ld.global.u32 %r1, [%rd1];\n"
		     "	bar.sync 0;\n	ld.global.u32 %r1, [%rd1]; ld.u32 %r2, [%rd2];\n"
		     "	ret;\n}\n";
	struct ptx_body b = body(PTX_AT_LOAD, DOES);
	struct ptx_spliced s = splice(text, &b, 1);

	CHECK(count(buf_text(&s.text), "mov.pred %xpu_if0, %p1;") == 1);
	CHECK(!strstr(buf_text(&s.text), ", %rd1;"));
	/* Whether it is in global memory is asked of the address. */
	CHECK(count(buf_text(&s.text), "mov.u64 %xpu_at1, %rd2;") == 1);
	/* One alone is a site like any other. */
	CHECK(count(buf_text(&s.text), "xpu_off:") == 1);
	ptx_spliced_release(&s);
}

static void a_module_without_lines_gets_none(void)
{
	struct ptx_body b = body(PTX_AT_ACCESS, DOES);
	struct ptx_spliced s = splice(accesses, &b, 1);

	CHECK(s.text.size && !strstr(buf_text(&s.text), ".loc\t") &&
		!strstr(buf_text(&s.text), ".file"));
	ptx_spliced_release(&s);
}

static const char two_kernels[] =
	HEAD ".visible .entry _Z3sumIiEvPT_(.param .u64 a)\n{\n	ret;\n}\n"
	     ".visible .entry other(.param .u64 a)\n{\n	ret;\n}\n";

static size_t named(const char *glob)
{
	struct ptx_body b = body(PTX_AT_EXIT, DOES);
	struct ptx_spliced s;
	size_t n;

	b.kernels = glob;
	s = splice(two_kernels, &b, 1);
	n = s.kernels.count;
	ptx_spliced_release(&s);
	return n;
}

static void kernels_are_named_mangled_readable_or_without_their_parameters(void)
{
	CHECK(named("*") == 2);
	CHECK(named("other") == 1 && named("oth*") == 1);
	CHECK(named("_Z3sum*") == 1);
	CHECK(named("void sum<int>(int?)") == 1);
	CHECK(named("sum<int>") == 1 && named("sum*") == 1);
	CHECK(named("nothing") == 0);
}

static void a_module_without_such_a_kernel_is_told_from_a_damaged_one(void)
{
	struct ptx_body b = body(PTX_AT_EXIT, DOES);
	struct ptx_probes probes = {.bodies = &b, .body_count = 1};
	struct ptx_spliced s = {0};

	b.kernels = "nothing";
	CHECK(ptx_splice(two_kernels, strlen(two_kernels), &probes, &s) == -ENOENT);
	CHECK(refused(HEAD ".visible .entry k()\n{\n	ret;\n") == -EINVAL);
}

static void damaged_text_is_refused_with_a_reason(void)
{
	CHECK(refused("") == -EINVAL);
	CHECK(refused("ELF") == -EINVAL);
	CHECK_TEXT(error_text(), "PTX line 1: not PTX: no .version at 'ELF'");
	CHECK(refused(".version 8.0\n") == -EINVAL);
	CHECK(refused(HEAD ".entry k()\n{\n	ret }\n") == -EINVAL);
	CHECK_TEXT(error_text(), "a statement of kernel 'k' does not read as PTX");
	CHECK(refused(HEAD ".entry k()\n{\n	/* ret;\n}\n") == -EINVAL);
	CHECK(refused(HEAD ".entry k(.param .u64 a\n{\n	ret;\n}\n") == -EINVAL);
	CHECK(refused(HEAD ".entry k()\n{\n	ret;\n}\n}\n") == -EINVAL);
	CHECK_TEXT(error_text(), "PTX line 8: no directive at '}'");
	CHECK(refused(HEAD ".entry k()\n{\n	ld.u32 %r1, [%r2;\n	ret\n	\"}\n") == -EINVAL);
	CHECK(refused(HEAD ".entry k()\n{\n	ret;\n}\n.target sm_80\n") == -EINVAL);
	CHECK_TEXT(error_text(), "PTX line 8: a second header at 'sm_80'");
	CHECK(refused(HEAD ".global .u32 a;\n.version 8.0\n.entry k()\n{\n	ret;\n}\n") ==
		-EINVAL);
	CHECK(refused(HEAD ".file 1 a\n.entry k()\n{\n	ret;\n}\n") == -EINVAL);
	CHECK(refused(".version 8.0\n.target sm_80\n.entry k()\n{\n	ret;\n}\n") == -EINVAL);
	CHECK_TEXT(error_text(), "the module has addresses of 32 bits");
}

static void a_text_that_was_spliced_is_not_spliced_again(void)
{
	struct ptx_body b = body(PTX_AT_EXIT, DOES);
	struct ptx_spliced s = splice(two_kernels, &b, 1);

	CHECK(refused(buf_text(&s.text)) == -EINVAL);
	CHECK_TEXT(error_text(), "the module has names that only probes have");
	CHECK(refused(HEAD
		      ".entry my_xpu_thing(.param .u64 not__xpuprof_x)\n{\n	ret;\n}\n") == 0);
	ptx_spliced_release(&s);
}

static void the_word_is_in_global_where_const_is_full(void)
{
	static const char almost[] =
		HEAD ".const .align 4 .b8 t[65504];\n.entry k()\n{\n	ret;\n}\n";
	static const char full[] =
		HEAD ".const .align 4 .b8 t[65508];\n.const .u8 u = 1, v[4] = {1, 2, 3, 4};\n"
		     ".extern .const .u32 w[];\n.entry k()\n{\n	ret;\n}\n";
	struct ptx_body b = body(PTX_AT_EXIT, DOES);
	struct ptx_spliced s = splice(almost, &b, 1), t = splice(full, &b, 1);

	CHECK(!s.word_in_global &&
		strstr(buf_text(&s.text), ".visible .const .align 32 .u64 __xpuprof_words[4];"));
	CHECK(t.word_in_global &&
		strstr(buf_text(&t.text), ".visible .global .align 32 .u64 __xpuprof_words[4];"));
	CHECK(strstr(buf_text(&t.text), "ld.global.u32 %xpu_t, [__xpuprof_words+8];"));
	ptx_spliced_release(&s);
	ptx_spliced_release(&t);
}

static void a_cookie_is_kept_only_for_a_pair_that_a_kernel_has(void)
{
	static const char entry[] = "{ mov.u64 %xpu_cookie, 5; }",
			  leave[] = "{ mov.u64 %e1, %xpu_cookie; membar.gl; }";
	struct ptx_body b[] = {body(PTX_AT_ENTRY, entry), body(PTX_AT_EXIT, leave)};
	struct ptx_spliced s = splice(two_kernels, b, 2), t;

	CHECK(!strstr(buf_text(&s.text), "%xpu_keep"));
	b[0].pair = b[1].pair = 4;
	b[0].kernels = "other";
	t = splice(two_kernels, b, 2);
	CHECK(count(buf_text(&t.text), ".reg .b64 %xpu_keep4;") == 1);
	CHECK(count(buf_text(&t.text), "mov.b64 %xpu_cookie, %xpu_keep4;") == 1);
	CHECK(count(buf_text(&t.text), "mov.b64 %xpu_keep4, %xpu_cookie;") == 1);
	CHECK(count(buf_text(&t.text), "mov.b64 %xpu_cookie, 0;") == 2);
	CHECK(!strstr(buf_text(&t.text), "shfl"));
	ptx_spliced_release(&s);
	ptx_spliced_release(&t);
}

/* How often the lanes of a kernel meet behind one body, and whether one gives its cookie to all. */
static size_t meetings(struct ptx_body entry, bool *ret_shares)
{
	struct ptx_body exit = body(PTX_AT_EXIT, "{ mov.b64 %x, %xpu_cookie; membar.gl; }");
	struct ptx_body bodies[] = {entry, exit};
	struct ptx_spliced s;
	size_t n;

	bodies[0].pair = bodies[1].pair = 1;
	s = splice(HEAD ".visible .entry k()\n{\n	ld.global.u64 %r, [%r];\n	ret;\n}\n",
		bodies, 1 + (entry.site == PTX_AT_ENTRY));
	*ret_shares = strstr(buf_text(&s.text), "shfl.sync");
	n = count(buf_text(&s.text), "bar.warp.sync %xpu_active;");
	ptx_spliced_release(&s);
	return n;
}

static void lanes_that_a_body_parted_meet_behind_it(void)
{
	struct ptx_body b = body(PTX_AT_ACCESS, "{ red.global.add.u64 [%x], 1; }");
	bool shares;

	CHECK(meetings(b, &shares) == 0);
	b.text = "{ @%p bra L; membar.gl; L: }";
	CHECK(meetings(b, &shares) == 1);
	b.text = "{ @%p bra L; exit; L: }";
	CHECK(meetings(b, &shares) == 0);
	b.once_per_warp = true;
	b.text = "{ red.global.add.u64 [%x], 1; }";
	CHECK(meetings(b, &shares) == 1 && !shares);
	/* All leave behind the last. */
	b.site = PTX_AT_EXIT;
	CHECK(meetings(b, &shares) == 0 && !shares);
	/* A cookie that is the same in all lanes is made in each; another is the lowest lane's. */
	b.site = PTX_AT_ENTRY;
	b.text = "{ mov.u64 %xpu_cookie, %globaltimer; }";
	CHECK(meetings(b, &shares) == 0 && !shares);
	b.text = "{ atom.global.add.u64 %xpu_cookie, [%x], 1; }";
	CHECK(meetings(b, &shares) == 0 && shares);
	b.text = "{ mov.u32 %xpu_cookie, %laneid; }";
	CHECK(meetings(b, &shares) == 0 && shares);
}

/* Where only effects are for one lane, no lane goes another way. */
static void lanes_that_run_a_body_together_need_not_meet(void)
{
	struct ptx_body b = body(PTX_AT_ACCESS,
		"{ setp.eq.u32 %q, %xpu_below, 0; @%p bra L; @%q red.global.add.u64 [%x], 1; L: }");
	bool shares;

	b.once_per_warp = true;
	CHECK(meetings(b, &shares) == 0 && !shares);
	b.text = "{ setp.eq.u32 %q, %xpu_below, 0; setp.eq.u32 %p, %laneid, 3; @%p bra L; "
		 "@%q red.global.add.u64 [%x], 1; L: }";
	CHECK(meetings(b, &shares) == 1 && !shares);
	/* Those that leave it are met again. */
	b.text = "{ setp.eq.u32 %q, %xpu_below, 0; @!%q bra xpu_rest; "
		 "red.global.add.u64 [%x], 1; }";
	CHECK(meetings(b, &shares) == 1 && !shares);
	b.site = PTX_AT_ENTRY;
	b.text = "{ setp.eq.u32 %q, %xpu_below, 0; @%q red.global.add.u64 [%x], 1; "
		 "mov.u64 %xpu_cookie, %globaltimer; }";
	CHECK(meetings(b, &shares) == 0 && !shares);
	b.text = "{ setp.eq.u32 %q, %xpu_below, 0; @%q red.global.add.u64 [%x], 1; "
		 "ld.global.u64 %xpu_cookie, [%x]; }";
	CHECK(meetings(b, &shares) == 0 && shares);
}

static void what_has_no_effect_is_left_out(void)
{
	static const char one[] = HEAD ".visible .entry k()\n{\n	ret;\n}\n";
	struct ptx_body bodies[] = {body(PTX_AT_ENTRY, "{ mov.u64 %xpu_cookie, %globaltimer; }"),
		body(PTX_AT_EXIT, "{ st.local.u64 [%x], %xpu_cookie; }"),
		body(PTX_AT_EXIT, "{ red.global.add.u64 [%x], 1; }")};
	struct ptx_spliced s;

	bodies[0].pair = bodies[1].pair = 1;
	s = splice(one, bodies, 2);
	CHECK(s.is_as_before && !s.text.size);
	CHECK(s.kernels.count == 1 && s.kernels.items[0].bodies == 2);
	ptx_spliced_release(&s);
	s = splice(one, bodies, 3);
	CHECK(!s.is_as_before && strstr(buf_text(&s.text), "red.global.add.u64 [%x], 1;"));
	CHECK(!strstr(buf_text(&s.text), "globaltimer") && !strstr(buf_text(&s.text), "st.local"));
	CHECK(s.kernels.count == 1 && s.kernels.items[0].bodies == 3);
	ptx_spliced_release(&s);
	/* A cookie that somebody reads is an effect. */
	bodies[1].text = "{ red.global.add.u64 [%x], %xpu_cookie; }";
	s = splice(one, bodies, 2);
	CHECK(strstr(buf_text(&s.text), "globaltimer"));
	ptx_spliced_release(&s);
}

/* Of two kernels one keeps nothing: its text is as it was. */
static void a_kernel_of_which_no_body_is_left_is_as_it_was(void)
{
	static const char nothing[] = ".visible .entry n()\n{\n	ret;\n}\n";
	struct ptx_body bodies[] = {body(PTX_AT_EXIT, DOES), body(PTX_AT_EXIT, "{ }")};
	struct ptx_spliced s;
	struct buf text = BUF_INIT;

	bodies[0].kernels = "k";
	bodies[1].kernels = "n";
	buf_printf(&text, HEAD ".visible .entry k()\n{\n	ret;\n}\n%s", nothing);
	s = splice(buf_text(&text), bodies, 2);
	CHECK(s.kernels.count == 2 && strstr(buf_text(&s.text), nothing));
	CHECK(count(buf_text(&s.text), "membar.gl") == 1);
	ptx_spliced_release(&s);
	buf_release(&text);
}

static void arguments_are_read_in_pieces_that_their_alignment_allows(void)
{
	static const char text[] =
		HEAD ".entry k(.param .u8 a, .param .align 4 .b8 b[12], .param .align 2 .b8 c[6],\n"
		     "	.param .u64 .ptr .global .align 16 d)\n{\n	ret;\n}\n";
	struct ptx_body b =
		body(PTX_AT_ENTRY, "{ membar.gl; add.u64 %a, %xpu_arg0, %xpu_arg1; add.u64 %a, "
				   "%xpu_arg2, %xpu_arg3; mov.u64 %a, %xpu_arg9; }");
	struct ptx_spliced s = splice(text, &b, 1);
	const char *t = buf_text(&s.text);

	CHECK(count(t, "ld.param.u8 %xpu_w, [a+0];") == 1);
	CHECK(count(t, "ld.param.u32 %xpu_w, [b+0];") == 1 &&
		count(t, "ld.param.u32 %xpu_w, [b+4];") == 1);
	CHECK(count(t, "ld.param.u16 %xpu_w, [c+4];") == 1 && !strstr(t, "[c+6]"));
	CHECK(count(t, "ld.param.u64 %xpu_w, [d+0];") == 1);
	CHECK(count(t, "mov.b64 %xpu_arg9, 0;") == 1 && !strstr(t, "%xpu_arg4"));
	ptx_spliced_release(&s);
}

static void a_block_that_must_stay_possible_stands_before_the_body(void)
{
	static const char text[] = HEAD ".entry k()\n{\n	ret;\n}\n"
					".entry own()\n.maxntid 64, 1, 1\n{\n	ret;\n}\n"
					".entry other()\n{\n	ret;\n}\n";
	static const struct ptx_bound bounds[] = {{"own", 512}, {"k", 1024}};
	struct ptx_body b = body(PTX_AT_ENTRY, DOES);
	struct ptx_probes probes = {
		.bodies = &b, .body_count = 1, .bounds = bounds, .bound_count = 2};
	struct ptx_spliced s = {0};

	CHECK(!ptx_splice(text, strlen(text), &probes, &s));
	CHECK(count(buf_text(&s.text), ".maxntid") == 2);
	CHECK(strstr(buf_text(&s.text), ".entry k()\n.maxntid 1024, 1, 1\n{\n"));
	CHECK(strstr(buf_text(&s.text), ".entry own()\n.maxntid 64, 1, 1\n{\n"));
	ptx_spliced_release(&s);
}

static void directives_before_a_body_may_have_ends_of_their_own(void)
{
	static const char text[] =
		HEAD ".func .attribute(.unified(0x1, 0x2)) (.param .b32 r) f(.param .b32 a)\n"
		     "{\n	ret;\n}\n"
		     ".visible .entry k(.param .u64 a) .pragma \"nounroll\", \"used; {\"; "
		     ".minnctapersm 1 .pragma \"nounroll\";\n{\n	ret;\n}\n";
	static const struct ptx_bound bounds[] = {{"k", 1024}};
	struct ptx_body b = body(PTX_AT_EXIT, DOES);
	struct ptx_probes probes = {
		.bodies = &b, .body_count = 1, .bounds = bounds, .bound_count = 1};
	struct ptx_spliced s = {0};
	struct ptx_module m;

	CHECK(!ptx_module_read(text, strlen(text), &m));
	CHECK(m.functions.count == 2 && m.functions.items[0].result_count == 1 &&
		m.functions.items[1].has_body);
	ptx_module_release(&m);
	CHECK(!ptx_splice(text, strlen(text), &probes, &s));
	CHECK(strstr(buf_text(&s.text), "\"nounroll\";\n.maxntid 1024, 1, 1\n{\n"));
	CHECK(count(buf_text(&s.text), "membar.gl") == 1);
	CHECK(refused(HEAD ".func .attribute(.unified(1, 2) f()\n{\n	ret;\n}\n") == -EINVAL);
	CHECK(refused(HEAD ".entry k() .pragma \"nounroll\"\n{\n	ret;\n}\n") == -EINVAL);
	ptx_spliced_release(&s);
}

static void old_ptx_is_raised_and_old_targets_are_refused(void)
{
	static const char text[] =
		".version 6.0\n.target sm_60\n.address_size 64\n.entry k()\n{\n	ret;\n}\n";
	struct ptx_body b = body(PTX_AT_ENTRY, DOES);
	struct ptx_probes probes = {.bodies = &b, .body_count = 1};
	struct ptx_spliced s = splice(text, &b, 1), t = {0};

	CHECK(!strncmp(buf_text(&s.text), ".version 6.2\n", 13));
	b.sm = 70;
	CHECK(ptx_splice(text, strlen(text), &probes, &t) == -EINVAL);
	CHECK_TEXT(error_text(),
		"its PTX is for sm_60, and the programs need sm_70: compile it for "
		"sm_70 or later");
	ptx_spliced_release(&s);
}

static void bodies_of_a_site_stand_in_their_order_and_the_text_is_always_the_same(void)
{
	struct ptx_body b[] = {body(PTX_AT_EXIT, "{ membar.gl; // ONE\n}"),
		body(PTX_AT_ENTRY, "{ membar.gl; // IN\n}"),
		body(PTX_AT_EXIT, "{ membar.gl; // TWO\n}")};
	struct ptx_spliced s = splice(two_kernels, b, 3), t = splice(two_kernels, b, 3);
	const char *in = strstr(buf_text(&s.text), "// IN"),
		   *one = in ? strstr(in, "// ONE") : NULL;

	CHECK(one && strstr(one, "// TWO"));
	CHECK_TEXT(buf_text(&s.text), buf_text(&t.text));
	ptx_spliced_release(&s);
	ptx_spliced_release(&t);
}

static void kernels_of_one_name_are_told_apart_by_the_text_of_their_modules(void)
{
	struct ptx_body b = body(PTX_AT_EXIT, "{ .reg .b64 %v; mov.b64 %v, %xpu_kernel; "
					      "membar.gl; }");
	struct ptx_spliced s = splice(KERNEL("ret;"), &b, 1),
			   same = splice(KERNEL("ret;") "\0 behind it", &b, 1),
			   other = splice(KERNEL("ret; "), &b, 1);
	char number[32];

	CHECK(s.kernels.count == 1 && other.kernels.count == 1);
	CHECK(s.module == same.module && s.kernels.items[0].hash == same.kernels.items[0].hash);
	CHECK(s.module != other.module && s.kernels.items[0].hash != other.kernels.items[0].hash);
	snprintf(number, sizeof(number), "0x%llx", (unsigned long long)s.kernels.items[0].hash);
	CHECK(strstr(buf_text(&s.text), number));
	ptx_spliced_release(&s);
	ptx_spliced_release(&same);
	ptx_spliced_release(&other);
}

static uint32_t bound_of(const char *bounds)
{
	struct ptx_body b = body(PTX_AT_EXIT, DOES);
	struct ptx_spliced s;
	char text[256];
	uint32_t bound;

	snprintf(text, sizeof(text), HEAD ".visible .entry k()\n%s\n{\n	ret;\n}\n", bounds);
	s = splice(text, &b, 1);
	CHECK(s.kernels.count == 1);
	bound = s.kernels.items[0].bound;
	ptx_spliced_release(&s);
	return bound;
}

static void a_text_says_how_many_registers_its_bounds_leave(void)
{
	CHECK(bound_of("") == 0 && bound_of(".maxntid 256, 1, 1") == 0);
	CHECK(bound_of(".maxntid 1024, 1, 1") == 64 && bound_of(".reqntid 32, 16, 2") == 64);
	CHECK(bound_of(".maxntid 257") == 224 && bound_of(".maxntid 100, 3") == 200);
	CHECK(bound_of(".maxntid 256, 1, 1 .minnctapersm 2") == 128);
	CHECK(bound_of(".minnctapersm 4 .maxntid 256") == 64 && bound_of(".minnctapersm 4") == 0);
	CHECK(bound_of(".maxnreg 40") == 40 && bound_of(".maxnreg 255") == 0);
	CHECK(bound_of(".maxnreg 40 .maxntid 1024") == 40);
	/* What no GPU has. */
	CHECK(bound_of(".maxntid 4294967295, 4294967295 .minnctapersm 99999999") == 0);
	CHECK(bound_of(".maxntid 0, 0, 0") == 0);
}

static void what_is_no_probe_is_refused(void)
{
	static const char *const bad[] = {
		"", "ret;", "{ } ret;", "{ {", "{ mov.u64 %a, %xpu_addr; }"};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct ptx_body b = body(PTX_AT_ENTRY, bad[i]);
		struct ptx_spliced s = splice(two_kernels, &b, 1);

		CHECK(!s.text.size);
		ptx_spliced_release(&s);
	}
}

static void a_module_is_read_with_its_variables_and_parameters(void)
{
	static const char text[] =
		"// made by hand\n.version 8.4\n.target sm_90a, debug\n.address_size 64\n"
		".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n"
		".extern .shared .align 16 .b8 dynamic[];\n"
		".visible .global .attribute(.managed) .align 8 .u64 m[2][3] = {{1, 2, 3}, {4}};\n"
		".global .align 1 .b8 text[] = {104, 105, 0};\n"
		".weak .entry k(.param .u8 a, .param .align 8 .b8 s[9], .param .f64 f)\n"
		".maxntid 128, 1, 1\n{\n	{ ret; }\n}\n"
		".section .debug_str { .b8 1, 2 }\n";
	struct ptx_module m;

	CHECK(!ptx_module_read(text, strlen(text), &m));
	CHECK(m.version == 84 && m.sm == 90 && m.address_bits == 64);
	CHECK(m.functions.count == 2 && !m.functions.items[0].has_body &&
		!m.functions.items[0].entry);
	CHECK(m.functions.items[0].param_count == 2 && m.functions.items[0].result_count == 1);
	CHECK(m.functions.items[1].entry && m.functions.items[1].bounds_block);
	CHECK(m.params.count == 6 && m.params.items[4].offset == 8 &&
		m.params.items[4].bytes == 9 && m.params.items[5].offset == 24);
	CHECK(m.variables.count == 3 && m.variables.items[0].bytes == 0);
	CHECK(m.variables.items[1].bytes == 48 && m.variables.items[2].bytes == 3);
	ptx_module_release(&m);
}

int main(void)
{
	RUN(every_way_out_has_the_exit_before_a_return_of_its_own);
	RUN(a_branch_leaves_where_nothing_but_a_return_is_behind_its_label);
	RUN(the_end_of_a_body_is_a_way_out_where_execution_comes_there);
	RUN(nothing_comes_between_a_loop_in_which_lanes_wait_and_the_end);
	RUN(lanes_that_leave_a_loop_in_which_others_wait_have_the_exit_in_front);
	RUN(words_that_only_contain_ret_are_left_alone);
	RUN(an_exit_in_a_function_that_is_called_is_counted_as_not_seen);
	RUN(an_element_of_a_variable_by_its_number_is_counted_as_not_seen);
	RUN(functions_that_the_probed_kernels_do_not_call_are_not_counted);
	RUN(each_access_to_global_memory_is_seen_with_its_size_and_kind);
	RUN(loads_and_stores_can_be_chosen_and_keep_their_numbers);
	RUN(an_access_knows_its_source_line_which_holds_behind_the_probe);
	RUN(the_line_behind_loads_is_that_of_the_last_of_them);
	RUN(bodies_of_loads_stand_together_behind_the_last_of_a_straight_piece);
	RUN(a_body_that_ends_threads_stands_before_its_load);
	RUN(bodies_of_many_loads_stand_in_several_places);
	RUN(what_no_body_needs_is_not_kept_behind_a_load);
	RUN(a_module_without_lines_gets_none);
	RUN(kernels_are_named_mangled_readable_or_without_their_parameters);
	RUN(a_module_without_such_a_kernel_is_told_from_a_damaged_one);
	RUN(damaged_text_is_refused_with_a_reason);
	RUN(a_text_that_was_spliced_is_not_spliced_again);
	RUN(the_word_is_in_global_where_const_is_full);
	RUN(a_cookie_is_kept_only_for_a_pair_that_a_kernel_has);
	RUN(lanes_that_a_body_parted_meet_behind_it);
	RUN(lanes_that_run_a_body_together_need_not_meet);
	RUN(what_has_no_effect_is_left_out);
	RUN(a_kernel_of_which_no_body_is_left_is_as_it_was);
	RUN(arguments_are_read_in_pieces_that_their_alignment_allows);
	RUN(a_block_that_must_stay_possible_stands_before_the_body);
	RUN(directives_before_a_body_may_have_ends_of_their_own);
	RUN(old_ptx_is_raised_and_old_targets_are_refused);
	RUN(bodies_of_a_site_stand_in_their_order_and_the_text_is_always_the_same);
	RUN(kernels_of_one_name_are_told_apart_by_the_text_of_their_modules);
	RUN(a_text_says_how_many_registers_its_bounds_leave);
	RUN(what_is_no_probe_is_refused);
	RUN(a_module_is_read_with_its_variables_and_parameters);
	return tap_end();
}
