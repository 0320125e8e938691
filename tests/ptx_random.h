/* SPDX-License-Identifier: MIT */
/*
 * Random kernels of PTX, "k(p, truth)", that read and write memory wherever they may: behind each
 * other in straight code, under predicates, in branches, loops and scopes with registers of the
 * same names, around barriers and calls. What a thread writes is its own, so that results are the
 * same in whatever order threads run.
 *
 * The same kernel can be had with code of its own before each access, which counts in `truth` what
 * a probe there would: a row of 8 words for each access (RANDOM_ROW), then a word for each thread
 * that tells the order of its accesses.
 */
#pragma once

#include "base/buf.h"
#include "ptx/splice.h"
#include "random.h"

#define RANDOM_ACCESSES 512 /* more than there are */
#define RANDOM_THREADS	96
#define RANDOM_ROW	64
#define RANDOM_ORDER	(RANDOM_ACCESSES * RANDOM_ROW)
#define RANDOM_TRUTH	(RANDOM_ORDER + RANDOM_THREADS * 8)
/* At p: words that are only read, pointers to each other, then 128 bytes for each thread. */
#define RANDOM_POINTERS	 2048
#define RANDOM_OWN	 4096
#define RANDOM_MEMORY	 (RANDOM_OWN + RANDOM_THREADS * 128)
#define RANDOM_REGISTERS 8

struct random_kernel {
	struct buf *text;
	bool truth;	    /* with the code that counts */
	enum ptx_site site; /* which accesses: PTX_AT_LOAD, _STORE or _ACCESS */
	unsigned int sm;
	uint32_t accesses, labels, depth, budget, line;
	bool leaves;			 /* threads may leave early */
	uint32_t lines[RANDOM_ACCESSES]; /* of .loc, by the access */
	uint32_t kinds[RANDOM_ACCESSES];
};

/* What an access is, for the code that counts. */
struct random_access {
	const char *base;
	uint32_t added, bytes, kind;
	bool generic;
};

static inline bool chance(uint32_t one_of)
{
	return random_below(one_of) == 0;
}

static inline uint32_t a_register(void)
{
	return random_below(RANDOM_REGISTERS);
}

/* Whether a body for such a site is for an access of this kind. */
static inline bool random_fits(enum ptx_site site, uint32_t kind)
{
	if (site == PTX_AT_LOAD)
		return kind & PTX_READS && !(kind & (PTX_ATOMIC | PTX_ASYNC));
	return site == PTX_AT_ACCESS || (kind & PTX_WRITES && !(kind & PTX_ATOMIC));
}

/* An address in a register as it is in all runs: one in `g` from its beginning. */
#define RANDOM_ADDRESS(a, scratch, predicate)                                                      \
	"	mov.u64 " scratch ", g; sub.u64 " scratch ", " a ", " scratch ";\n"                \
	"	setp.lt.u64 " predicate ", " scratch ", 64; @" predicate " mov.u64 " a             \
	", " scratch ";\n"

static const char random_counts[] = RANDOM_ADDRESS(
	"%ta", "%tv", "%tp") "	add.u64 %tv, %tc, 8; red.global.add.u64 [%tv], %ta;\n"
			     "	mov.b64 %tv, 1; red.global.add.u64 [%tc], %tv; red.global.add.u64 "
			     "[%tc+32], %tv;\n"
			     "	red.global.add.u64 [%tc+56], %tv;\n"
			     "	mov.u32 %tl, %ctaid.x; mov.u32 %tm, %ntid.x; mov.u32 %tn, %tid.x;\n"
			     "	mad.lo.u32 %tl, %tl, %tm, %tn; mad.wide.u32 %tb, %tl, 8, %tb;\n"
			     "	ld.global.u64 %tv, [%tb]; mad.lo.u64 %tv, %tv, 31, %ta; add.u64 "
			     "%tv, %tv, %tw;\n"
			     "	st.global.u64 [%tb], %tv;\n"
			     "	activemask.b32 %tm; shr.u64 %tv, %ta, 7; match.any.sync.b64 %tn, "
			     "%tv, %tm;\n"
			     "	mov.u32 %tl, %lanemask_lt; and.b32 %tn, %tn, %tl; setp.eq.u32 %tp, "
			     "%tn, 0;\n"
			     "	vote.sync.ballot.b32 %tn, %tp, %tm; popc.b32 %tn, %tn;\n"
			     "	and.b32 %tm, %tm, %tl; setp.ne.u32 %tp, %tm, 0; @%tp bra TRUE;\n"
			     "	cvt.u64.u32 %tv, %tn; red.global.add.u64 [%tc+48], %tv;\n"
			     "	mov.b64 %tv, 1; red.global.add.u64 [%tc+40], %tv;\n";

/* "@%p1 " or nothing. */
struct random_guard {
	char text[8];
};

static inline struct random_guard a_guard(void)
{
	struct random_guard g = {""};

	if (chance(3))
		snprintf(
			g.text, sizeof(g.text), "@%s%%p%u ", chance(2) ? "!" : "", random_below(3));
	return g;
}

/* Before each access: its line, and what counts it. */
static inline void note(
	struct random_kernel *k, const struct random_guard *g, const struct random_access *a)
{
	struct buf *b = k->text;
	uint32_t n = k->accesses++;

	if (chance(3)) {
		k->line = 100 + n;
		buf_printf(b, "	.loc	1 %u 0\n", k->line);
	}
	k->lines[n] = k->line;
	k->kinds[n] = a->kind;
	if (!k->truth || !random_fits(k->site, a->kind))
		return;
	buf_puts(b, "	{ .reg .pred %tp; .reg .b32 %tm, %tl, %tn; .reg .b64 %ta, %tb, %tc, %tv, "
		    "%tw;\n");
	if (*g->text)
		buf_printf(b, "	@%s bra TRUE;\n",
			g->text[1] == '!' ? g->text + 2 : (char[]){'!', '%', 'p', g->text[3], 0});
	buf_printf(b, "	mov.u64 %%ta, %s; add.u64 %%ta, %%ta, %u;\n", a->base, a->added);
	if (a->generic)
		buf_puts(b, "	isspacep.global %tp, %ta; @!%tp bra TRUE;\n");
	buf_printf(b,
		"	ld.param.u64 %%tb, [truth]; add.u64 %%tc, %%tb, %u; add.u64 %%tb, %%tb, "
		"%u;\n"
		"	mov.b64 %%tv, %u; red.global.add.u64 [%%tc+16], %%tv;\n"
		"	mov.b64 %%tv, %u; red.global.add.u64 [%%tc+24], %%tv; mov.b64 %%tw, %u;\n",
		n * RANDOM_ROW, RANDOM_ORDER, a->bytes, a->kind, n);
	buf_puts(b, random_counts);
	buf_puts(b, "TRUE: }\n");
}

/* A place among the words that are only read, in %rd4. */
static inline void put_place(struct random_kernel *k, uint32_t align)
{
	buf_printf(k->text, "	and.b32 %%t, %%r%u, %u; mad.wide.u32 %%rd4, %%t, %u, %%rd0;\n",
		a_register(), 1024 / align - 1, align);
}

static inline void put_load(struct random_kernel *k)
{
	static const struct {
		const char *op;
		uint32_t kind, bytes;
	} ops[] = {{"ld.global.u32", PTX_READS, 4}, {"ld.global.u32", PTX_READS, 4},
		{"ld.global.nc.u32", PTX_READS, 4}, {"ld.weak.global.s32", PTX_READS, 4},
		{"ld.relaxed.gpu.global.u32", PTX_READS, 4},
		{"ld.acquire.gpu.global.u32", PTX_READS, 4}, {"ld.global.u8", PTX_READS, 1},
		{"ld.global.s16", PTX_READS, 2}, {"ldu.global.b32", PTX_READS, 4},
		{"ld.volatile.global.u32", PTX_READS | PTX_VOLATILE, 4}};
	uint32_t n = random_below(sizeof(ops) / sizeof(*ops)), added = random_below(8) * 4;
	struct random_guard g = a_guard();

	put_place(k, 4);
	note(k, &g, &(struct random_access){"%rd4", added, ops[n].bytes, ops[n].kind, false});
	buf_printf(k->text, "	%s%s %%r%u, [%%rd4+%u];\n", g.text, ops[n].op, a_register(), added);
	if (chance(2))
		buf_puts(k->text, "	mov.u64 %rd4, %rd0;\n");
}

static inline void put_vector_load(struct random_kernel *k)
{
	uint32_t first = random_below(RANDOM_REGISTERS - 3);
	struct random_guard g = a_guard();

	put_place(k, 16);
	note(k, &g, &(struct random_access){"%rd4", 0, 16, PTX_READS, false});
	buf_printf(k->text, "	%sld.global.v4.u32 {%%r%u, %%r%u, %%r%u, %%r%u}, [%%rd4];\n",
		g.text, first + 1, first, first + 3, first + 2);
}

/* The address is overwritten by its own load. */
static inline void put_chase(struct random_kernel *k)
{
	struct random_guard g = a_guard();
	uint32_t added = random_below(32) * 8;

	note(k, &g, &(struct random_access){"%rd2", added, 8, PTX_READS, false});
	buf_printf(k->text, "	%sld.global.u64 %%rd2, [%%rd2+%u];\n", g.text, added);
}

static inline void put_own_load(struct random_kernel *k)
{
	static const char *const bases[] = {"%rd1", "%rd3", "g"};
	uint32_t n = random_below(3), added = random_below(8) * 4;
	struct random_guard g = a_guard();

	note(k, &g, &(struct random_access){bases[n], added, 4, PTX_READS, n == 1});
	buf_printf(k->text, "	%s%s %%r%u, [%s+%u];\n", g.text,
		n == 1 ? "ld.u32" : "ld.global.u32", a_register(), bases[n], added);
}

static inline void put_store(struct random_kernel *k)
{
	uint32_t added = random_below(16) * 4;
	bool generic = chance(2);
	struct random_guard g = a_guard();

	note(k, &g,
		&(struct random_access){generic ? "%rd3" : "%rd1", added, 4, PTX_WRITES, generic});
	buf_printf(k->text, "	%s%s [%s+%u], %%r%u;\n", g.text,
		generic ? "st.u32" : "st.global.u32", generic ? "%rd3" : "%rd1", added,
		a_register());
}

static inline void put_atomic(struct random_kernel *k)
{
	uint32_t added = random_below(8) * 4;
	struct random_guard g = a_guard();

	if (chance(2)) {
		note(k, &g,
			&(struct random_access){
				"g", 32 + added, 4, PTX_WRITES | PTX_ATOMIC, false});
		buf_printf(k->text, "	%sred.global.add.u32 [g+%u], %%r%u;\n", g.text, 32 + added,
			a_register());
		return;
	}
	note(k, &g,
		&(struct random_access){
			"%rd1", added, 4, PTX_READS | PTX_WRITES | PTX_ATOMIC, false});
	buf_printf(k->text, "	%satom.global.add.u32 %%r%u, [%%rd1+%u], %%r%u;\n", g.text,
		a_register(), added, a_register());
}

static inline void put_copy(struct random_kernel *k)
{
	struct random_guard g = a_guard();

	put_place(k, 4);
	if (k->sm < 80)
		return;
	note(k, &g, &(struct random_access){"%rd4", 0, 4, PTX_READS | PTX_ASYNC, false});
	buf_printf(k->text,
		"	%scp.async.ca.shared.global [%%s], [%%rd4], 4;\n	"
		"cp.async.wait_all;\n",
		g.text);
}

static inline void put_shared(struct random_kernel *k)
{
	uint32_t added = random_below(4) * 4;
	struct random_guard g = a_guard();

	if (chance(2))
		buf_printf(k->text, "	%sst.shared.u32 [%%s+%u], %%r%u;\n", g.text, added,
			a_register());
	else
		buf_printf(k->text, "	%sld.shared.u32 %%r%u, [%%s+%u];\n", g.text, a_register(),
			added);
}

static inline void put_number(struct random_kernel *k)
{
	static const char *const ops[] = {
		"add.u32", "sub.u32", "mul.lo.u32", "xor.b32", "min.u32", "shr.u32", "and.b32"};
	struct random_guard g = a_guard();

	buf_printf(k->text, "	%s%s %%r%u, %%r%u, %%r%u;\n", g.text,
		ops[random_below(sizeof(ops) / sizeof(*ops))], a_register(), a_register(),
		a_register());
}

static inline void put_predicate(struct random_kernel *k)
{
	static const char *const comparisons[] = {"lt", "ne", "ge", "gt"};

	buf_printf(k->text, "	and.b32 %%t, %%r%u, 7; setp.%s.u32 %%p%u, %%t, %u;\n", a_register(),
		comparisons[random_below(4)], random_below(3), random_below(8));
}

/* To global memory of the thread's own, shared or local memory. */
static inline void put_generic(struct random_kernel *k)
{
	static const char *const from[] = {"%rd1", "%rd5", "%rd6"};

	buf_printf(k->text, "	selp.b64 %%rd3, %s, %s, %%p%u;\n", from[random_below(3)],
		from[random_below(3)], random_below(3));
}

/* What lanes do together, where all are. */
static inline void put_meeting(struct random_kernel *k)
{
	switch (random_below(k->leaves || k->depth ? 4 : 7)) {
	case 0:
		if (!k->depth)
			buf_puts(k->text, "	bar.sync 0;\n");
		return;
	case 1:
		buf_puts(k->text, "	activemask.b32 %t;\n");
		return;
	case 2:
		buf_puts(k->text, "	membar.gl;\n");
		return;
	case 3:
		buf_puts(k->text, "	fence.acq_rel.gpu;\n");
		return;
	case 4:
		buf_printf(k->text, "	vote.sync.ballot.b32 %%r%u, %%p1, 0xffffffff;\n",
			a_register());
		return;
	case 5:
		buf_printf(k->text, "	shfl.sync.bfly.b32 %%r%u, %%r%u, 5, 31, 0xffffffff;\n",
			a_register(), a_register());
		return;
	default:
		buf_puts(k->text, "	vote.sync.any.pred %p2, %p1, 0xffffffff;\n");
	}
}

static inline void put_leave(struct random_kernel *k)
{
	static const char *const how[] = {"ret", "exit", "bra Leave"};

	if (k->leaves)
		buf_printf(k->text, "	@%s%%p%u %s;\n", chance(2) ? "!" : "", random_below(3),
			how[random_below(3)]);
}

static inline void put_statements(struct random_kernel *k, uint32_t count);

static inline void put_if(struct random_kernel *k)
{
	uint32_t n = k->labels++;

	buf_printf(k->text, "	@%s%%p%u bra Else%u;\n", chance(2) ? "!" : "", random_below(3), n);
	put_statements(k, 4);
	if (chance(2)) {
		buf_printf(k->text, "	bra End%u;\nElse%u:\n", n, n);
		put_statements(k, 4);
		buf_printf(k->text, "End%u:\n", n);
		return;
	}
	buf_printf(k->text, "Else%u:\n", n);
}

static inline void put_loop(struct random_kernel *k)
{
	uint32_t n = k->labels++, d = k->depth;

	buf_printf(k->text, "	and.b32 %%c%u, %%r%u, 3;\nLoop%u:\n", d, a_register(), n);
	put_statements(k, 5);
	buf_printf(k->text,
		"	sub.u32 %%c%u, %%c%u, 1; setp.gt.s32 %%q, %%c%u, 0; @%%q bra Loop%u;\n", d,
		d, d, n);
}

/* Waits for what is so already. */
static inline void put_spin(struct random_kernel *k)
{
	uint32_t n = k->labels++;

	buf_printf(k->text, "Spin%u:\n", n);
	note(k, &(struct random_guard){""}, &(struct random_access){"g", 0, 4, PTX_READS, false});
	buf_printf(k->text,
		"	ld.acquire.gpu.global.u32 %%t, [g]; setp.eq.u32 %%q, %%t, 0; @%%q bra "
		"Spin%u;\n",
		n);
}

static inline void put_table(struct random_kernel *k)
{
	uint32_t n = k->labels++;

	buf_printf(k->text,
		"	and.b32 %%t, %%r%u, 3;\nTable%u: .branchtargets Case%u, Other%u, Other%u, "
		"Done%u;\n	brx.idx %%t, Table%u;\nCase%u:\n",
		a_register(), n, n, n, n, n, n, n);
	put_statements(k, 3);
	buf_printf(k->text, "	bra Done%u;\nOther%u:\n", n, n);
	put_statements(k, 3);
	buf_printf(k->text, "Done%u:\n", n);
}

/* With registers and a label of the same names as outside. */
static inline void put_scope(struct random_kernel *k)
{
	bool skips = chance(2);

	buf_printf(k->text,
		"	{ .reg .b64 %%rd4; .reg .b32 %%r1, %%t; .reg .pred %%p1; mov.b32 %%r1, "
		"%u;\n"
		"	mov.u64 %%rd4, %%rd0; setp.ne.u32 %%p1, %%r0, %%r1;\n",
		random_below(1000));
	put_statements(k, 1);
	if (skips)
		buf_printf(k->text, "	@%%p%u bra L;\n", random_below(3));
	put_statements(k, 4);
	buf_puts(k->text, skips ? "L:	}\n" : "	}\n");
}

static inline void put_call(struct random_kernel *k)
{
	buf_printf(k->text,
		"	{ .param .b64 a; .param .b32 b; st.param.b64 [a], %%rd2; .param .b32 c;\n"
		"	st.param.b32 [b], %%r%u;\n",
		a_register());
	if (chance(2))
		put_load(k);
	buf_puts(k->text, "	call (c), f, (a, b);\n");
	if (chance(2))
		put_load(k);
	buf_printf(k->text, "	ld.param.b32 %%r%u, [c]; }\n", a_register());
}

static inline void put_statement(struct random_kernel *k)
{
	static void (*const straight[])(struct random_kernel *) = {put_load, put_load, put_load,
		put_load, put_vector_load, put_chase, put_chase, put_own_load, put_own_load,
		put_store, put_atomic, put_copy, put_shared, put_number, put_number, put_number,
		put_predicate, put_predicate, put_generic, put_meeting};
	static void (*const parting[])(struct random_kernel *) = {put_if, put_if, put_loop,
		put_scope, put_scope, put_call, put_spin, put_leave, put_table};

	if (!k->budget)
		return;
	k->budget--;
	if (chance(4) && k->depth < 4) {
		k->depth++;
		parting[random_below(sizeof(parting) / sizeof(*parting))](k);
		k->depth--;
		return;
	}
	straight[random_below(sizeof(straight) / sizeof(*straight))](k);
}

static inline void put_statements(struct random_kernel *k, uint32_t count)
{
	for (uint32_t i = 0, n = 1 + random_below(count); i < n; i++)
		put_statement(k);
}

static const char random_head[] =
	".address_size 64\n.visible .global .align 128 .b32 g[16] = {3, 1, 4, 1, 5, 9, 2, 6};\n"
	".func (.param .b32 r) f(.param .b64 a, .param .b32 b)\n{\n"
	"	.reg .b64 %rd<2>; .reg .b32 %r<3>;\n"
	"	ld.param.u64 %rd0, [a]; ld.param.u32 %r0, [b]; ld.global.u32 %r1, [g+4];\n"
	"	add.u32 %r0, %r0, %r1; st.param.b32 [r], %r0;\n	ret;\n}\n";

static const char random_begin[] =
	"{\n	.reg .b64 %rd<8>; .reg .b32 %r<8>, %c<8>, %t, %s; .reg .pred %p<3>, %q;\n"
	"	.local .align 16 .b8 stack[64]; .shared .align 16 .b8 parts[8192];\n"
	"	ld.param.u64 %rd0, [p]; mov.u32 %t, %ctaid.x; mov.u32 %r0, %ntid.x;\n"
	"	mov.u32 %r1, %tid.x; mad.lo.u32 %r0, %t, %r0, %r1; mad.wide.u32 %rd1, %r0, 128, "
	"%rd0;\n"
	"	add.u64 %rd1, %rd1, 4096; add.u64 %rd2, %rd0, 2048; mov.u64 %rd3, %rd1;\n"
	"	mov.u64 %rd4, %rd0; mov.u32 %s, parts; mad.lo.u32 %s, %r1, 64, %s;\n"
	"	cvt.u64.u32 %rd5, %s; cvta.shared.u64 %rd5, %rd5;\n"
	"	mov.u64 %rd6, stack; cvta.local.u64 %rd6, %rd6;\n"
	"	mul.lo.u32 %r2, %r0, 2654435761; shr.u32 %r3, %r2, 7; xor.b32 %r4, %r2, %r1;\n"
	"	shr.u32 %r5, %r2, 13; shr.u32 %r6, %r2, 17; mov.u32 %r7, 5;\n"
	"	setp.lt.u32 %p0, %r1, 16; setp.ne.u32 %p1, %t, 1; setp.eq.u32 %p2, %r7, %r1;\n";

/* Local and shared memory begin as anything. */
static inline void put_clearing(struct random_kernel *k)
{
	for (unsigned int i = 0; i < 64; i += 4)
		buf_printf(k->text,
			"	st.local.u32 [stack+%u], %%r7; st.shared.u32 [%%s+%u], %%r7;\n", i,
			i);
}

/* Fills in all but what the caller has set: text, truth, site, sm. */
static inline void put_kernel(struct random_kernel *k)
{
	struct buf *b = k->text;

	k->accesses = k->labels = k->depth = k->line = 0;
	k->budget = 20 + random_below(60);
	k->leaves = chance(2);
	buf_printf(b,
		".version 8.7\n.target sm_%u\n%s.visible .entry k(.param .u64 p, .param .u64 "
		"truth)\n",
		k->sm, random_head);
	buf_puts(b, random_begin);
	put_clearing(k);
	while (k->budget)
		put_statement(k);
	for (unsigned int i = 0; i < RANDOM_REGISTERS; i++) {
		note(k, &(struct random_guard){""},
			&(struct random_access){"%rd1", 64 + i * 4, 4, PTX_WRITES, false});
		buf_printf(b, "	st.global.u32 [%%rd1+%u], %%r%u;\n", 64 + i * 4, i);
	}
	if (chance(2))
		put_load(k);
	buf_puts(b, "Leave:\n");
	buf_puts(b, chance(2) ? "	ret;\n}\n" : "}\n");
	buf_puts(b, "	.file	1 \"k.cu\"\n");
}
