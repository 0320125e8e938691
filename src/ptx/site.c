// SPDX-License-Identifier: MIT
/*
 * What is written at a site:
 *
 *	{	registers of the site
 *		past the end where the access's predicate is false, the thread entered detached,
 *		the address is in no global memory
 *		what the bodies are given
 *		{	the cookie; past the body in all lanes but the lowest
 *			body
 *		xpu_rest:
 *			the lanes meet again
 *			at the entry, the cookie is kept
 *		}
 *		... each body
 *	xpu_past:
 *	}
 *
 * Several of loads may stand together (deferred.c), behind one test whether the thread is attached,
 * and those that all lanes come to have one %xpu_active: they meet again behind each body.
 *
 * Labels and registers are local to the braces, so that nothing needs a name of its own.
 *
 * Lanes that a body parted (one ran it, or took longer) need not meet again by themselves: the
 * assembler leaves them apart where a body waits in a loop, seen with ptxas 13.0 and an H100. All
 * that follows would then run twice, and each next site would count two warps.
 */
#include "ptx/splice_internal.h"

#include <errno.h>

#include "base/error.h"

static const struct {
	const char *name;
	uint32_t uses;
} registers[] = {
	{"%xpu_arena", PTX_USES_ARENA},
	{"%xpu_below", PTX_USES_BELOW},
	{"%xpu_cookie", PTX_USES_COOKIE},
	{"%xpu_lanes", PTX_USES_LANES},
	{"%xpu_active", PTX_USES_ACTIVE},
	{"%xpu_kernel", PTX_USES_KERNEL},
	{"%xpu_argc", PTX_USES_ARGC},
	{"%xpu_addr", PTX_USES_ADDR},
	{"%xpu_size", PTX_USES_SIZE},
	{"%xpu_kind", PTX_USES_KIND},
	{"%xpu_insn", PTX_USES_INSN},
	{"%xpu_lines", PTX_USES_LINES},
	{"%xpu_site", PTX_USES_SITE},
	{"%xpu_sites", PTX_USES_SITES},
};

#define USES_MEMORY                                                                                \
	(PTX_USES_ADDR | PTX_USES_SIZE | PTX_USES_KIND | PTX_USES_INSN | PTX_USES_LINES |          \
		PTX_USES_SITE | PTX_USES_SITES)

static uint32_t uses_of(const struct ptx_token *t)
{
	static const char argument[] = "%xpu_arg";
	size_t size = sizeof(argument) - 1;
	struct ptx_token number = {PTX_WORD, t->text + size, t->size - size};
	uint64_t n;

	for (size_t i = 0; i < sizeof(registers) / sizeof(*registers); i++)
		if (ptx_is(t, registers[i].name))
			return registers[i].uses;
	if (t->size > size && !memcmp(t->text, argument, size) && ptx_number(&number, &n) &&
		n < PTX_ARGUMENTS)
		return 1u << n;
	return 0;
}

/* What opcodes and registers that begin so mean. */
static const struct {
	const char *start;
	uint32_t uses;
} meanings[] = {
	{"st.local", 0},
	{"st", PTX_HAS_EFFECTS},
	{"sust", PTX_HAS_EFFECTS},
	{"red.", PTX_HAS_EFFECTS},
	{"redux", PTX_VARIES},
	{"atom", PTX_HAS_EFFECTS | PTX_VARIES},
	{"multimem", PTX_HAS_EFFECTS | PTX_VARIES},
	{"cp.", PTX_HAS_EFFECTS},
	{"call", PTX_HAS_EFFECTS | PTX_VARIES},
	{"fence", PTX_HAS_EFFECTS},
	{"membar", PTX_HAS_EFFECTS},
	{"bar", PTX_HAS_EFFECTS},
	{"mbarrier", PTX_HAS_EFFECTS},
	{"nanosleep", PTX_HAS_EFFECTS},
	{"exit", PTX_HAS_EFFECTS | PTX_ENDS_THREADS},
	{"trap", PTX_HAS_EFFECTS},
	{"brkpt", PTX_HAS_EFFECTS},
	{"ld", PTX_VARIES},
	{"shfl", PTX_VARIES},
	{"vote", PTX_VARIES},
	{"match", PTX_VARIES},
	{"elect", PTX_VARIES},
	{"%tid", PTX_VARIES},
	{"%lane", PTX_VARIES},
	{"%xpu_addr", PTX_VARIES},
	{"%xpu_size", PTX_VARIES},
	{"bra", PTX_BRANCHES},
	{"brx", PTX_BRANCHES},
	{"xpu_rest", PTX_PARTS},
};

static uint32_t meaning_of(const struct ptx_token *t)
{
	for (size_t i = 0; i < sizeof(meanings) / sizeof(*meanings); i++) {
		size_t size = strlen(meanings[i].start);

		if (t->size >= size && !memcmp(t->text, meanings[i].start, size))
			return meanings[i].uses;
	}
	return 0;
}

int ptx_body_uses(const struct ptx_body *body, uint32_t *ret)
{
	struct ptx_lexer l = ptx_lexer_of(body->text, strlen(body->text));
	struct ptx_token t = ptx_lex(&l);
	struct ptx_lexer inside = l;
	uint32_t uses = 0;

	if (!ptx_is_mark(&t, '{') || !ptx_skip_block(&l) || ptx_peek(&l).kind != PTX_TEXT_END)
		return error_set(-EINVAL, "a probe's body is not one block of PTX");
	do {
		t = ptx_lex(&inside);
		if (t.kind == PTX_WORD && *t.text == '%')
			uses |= uses_of(&t);
		if (t.kind == PTX_WORD)
			uses |= meaning_of(&t);
	} while (t.kind != PTX_TEXT_END && t.kind != PTX_BAD);
	if (uses & USES_MEMORY && body->site < PTX_AT_LOAD)
		return error_set(-EINVAL, "a probe names an access to memory where there is none");
	*ret = uses;
	return 0;
}

bool ptx_body_fits(const struct ptx_body *body, enum ptx_site site, const struct ptx_memory *m)
{
	if (!m)
		return body->site == site;
	switch (body->site) {
	case PTX_AT_ACCESS:
		return true;
	case PTX_AT_LOAD:
		return m->kind & PTX_READS && !(m->kind & (PTX_ATOMIC | PTX_ASYNC));
	case PTX_AT_STORE:
		return m->kind & PTX_WRITES && !(m->kind & PTX_ATOMIC);
	default:
		return false;
	}
}

static void write_text(struct buf *b, struct ptx_text t)
{
	buf_append(b, t.at, t.size);
}

static void write_predicate(struct buf *b, const struct ptx_statement *s)
{
	if (!s->predicate.size)
		return;
	buf_puts(b, s->negated ? "\t@" : "\t@!");
	write_text(b, s->predicate);
	buf_puts(b, " bra xpu_past;\n");
}

static void write_address(struct buf *b, const struct ptx_memory *m)
{
	buf_puts(b, "\t.reg .b64 %xpu_addr;\n\tmov.u64 %xpu_addr, ");
	write_text(b, m->base);
	buf_puts(b, ";\n");
	if (m->added.size) {
		/* "+8" or "+-8" */
		struct ptx_text added = {m->added.at, m->added.size};

		if (*added.at == '+')
			added = (struct ptx_text){added.at + 1, added.size - 1};
		buf_puts(b, "\tadd.s64 %xpu_addr, %xpu_addr, ");
		write_text(b, added);
		buf_puts(b, ";\n");
	}
	if (m->generic)
		buf_puts(b, "\tisspacep.global %xpu_p, %xpu_addr;\n\t@!%xpu_p bra xpu_past;\n");
}

bool ptx_needs_address(const struct ptx_memory *m, uint32_t uses)
{
	return m->generic || uses & (PTX_USES_ADDR | PTX_USES_LINES);
}

static void write_memory(struct buf *b, const struct ptx_site_at *at, uint32_t uses)
{
	const struct ptx_memory *m = at->memory;

	if (ptx_needs_address(m, uses))
		write_address(b, m);
	if (uses & PTX_USES_SIZE && m->bytes)
		buf_printf(b, "\t.reg .b32 %%xpu_size;\n\tmov.b32 %%xpu_size, %u;\n", m->bytes);
	if (uses & PTX_USES_SIZE && !m->bytes) {
		buf_puts(b, "\t.reg .b32 %xpu_size;\n\tmov.b32 %xpu_size, ");
		write_text(b, m->size_operand);
		buf_puts(b, ";\n");
	}
	if (uses & PTX_USES_KIND)
		buf_printf(b, "\t.reg .b32 %%xpu_kind;\n\tmov.b32 %%xpu_kind, %u;\n", m->kind);
	if (uses & PTX_USES_INSN)
		buf_printf(b, "\t.reg .b32 %%xpu_insn;\n\tmov.b32 %%xpu_insn, %u;\n", at->insn);
	if (uses & PTX_USES_SITE)
		buf_printf(b, "\t.reg .b32 %%xpu_site;\n\tmov.b32 %%xpu_site, %u;\n", at->number);
}

/* The first bytes of a parameter, in pieces that its alignment allows. */
static void write_argument(struct ptx_splicer *s, unsigned int i)
{
	const struct ptx_function *f = s->kernel;
	struct buf *b = &s->out.text;
	const struct ptx_param *p;
	uint32_t bytes, piece;

	buf_printf(b, "\t.reg .b64 %%xpu_arg%u;\n\tmov.b64 %%xpu_arg%u, 0;\n", i, i);
	if (i >= f->param_count)
		return;
	p = &s->module.params.items[f->first_param + i];
	bytes = p->bytes < 8 ? p->bytes : 8;
	for (uint32_t at = 0; at < bytes; at += piece) {
		for (piece = p->align < 8 ? p->align : 8; piece > bytes - at; piece /= 2)
			;
		buf_printf(b, "\tld.param.u%u %%xpu_w, [", piece * 8);
		write_text(b, p->name);
		buf_printf(b, "+%u];\n", at);
		if (at)
			buf_printf(b, "\tshl.b64 %%xpu_w, %%xpu_w, %u;\n", at * 8);
		buf_printf(b, "\tor.b64 %%xpu_arg%u, %%xpu_arg%u, %%xpu_w;\n", i, i);
	}
}

static void write_kernel(struct ptx_splicer *s, uint32_t uses)
{
	struct buf *b = &s->out.text;

	if (uses & PTX_USES_KERNEL)
		buf_printf(b, "\t.reg .b64 %%xpu_kernel;\n\tmov.b64 %%xpu_kernel, 0x%llx;\n",
			(unsigned long long)s->kernel_hash);
	if (uses & PTX_USES_ARGC)
		buf_printf(b, "\t.reg .b32 %%xpu_argc;\n\tmov.b32 %%xpu_argc, %zu;\n",
			s->kernel->param_count);
	if (uses & ((1u << PTX_ARGUMENTS) - 1))
		buf_puts(b, "\t.reg .b64 %xpu_w;\n");
	for (unsigned int i = 0; i < PTX_ARGUMENTS; i++)
		if (uses & 1u << i)
			write_argument(s, i);
}

const char ptx_active_text[] = "\t.reg .b32 %xpu_active;\n\tactivemask.b32 %xpu_active;\n";

/* A lane is the first of its group where no lower one has the same line. */
const char ptx_lines_text[] = "\t.reg .b32 %xpu_lines;\n"
			      "\tshr.u64 %xpu_v, %xpu_addr, 7;\n"
			      "\tmatch.any.sync.b64 %xpu_t, %xpu_v, %xpu_active;\n"
			      "\tmov.u32 %xpu_u, %lanemask_lt;\n"
			      "\tand.b32 %xpu_t, %xpu_t, %xpu_u;\n"
			      "\tsetp.eq.u32 %xpu_p, %xpu_t, 0;\n"
			      "\tvote.sync.ballot.b32 %xpu_t, %xpu_p, %xpu_active;\n"
			      "\tpopc.b32 %xpu_lines, %xpu_t;\n";

/* Not in the lowest of the active lanes. */
static const char higher_text[] = "\tmov.u32 %xpu_t, %lanemask_lt;\n"
				  "\tand.b32 %xpu_t, %xpu_t, %xpu_active;\n"
				  "\tsetp.ne.u32 %xpu_p, %xpu_t, 0;\n"
				  "\t@%xpu_p bra xpu_rest;\n";

static const char below_text[] = "\t.reg .b32 %xpu_below;\n"
				 "\tmov.u32 %xpu_below, %lanemask_lt;\n"
				 "\tand.b32 %xpu_below, %xpu_below, %xpu_active;\n";
static const char none_below_text[] = "\t.reg .b32 %xpu_below;\n\tmov.b32 %xpu_below, 0;\n";

/* From the lowest of the active lanes to all of them. */
static const char share_text[] = "\tbrev.b32 %xpu_t, %xpu_active;\n"
				 "\tclz.b32 %xpu_t, %xpu_t;\n"
				 "\tmov.b64 {%xpu_u, %xpu_x}, %xpu_cookie;\n"
				 "\tshfl.sync.idx.b32 %xpu_u, %xpu_u, %xpu_t, 31, %xpu_active;\n"
				 "\tshfl.sync.idx.b32 %xpu_x, %xpu_x, %xpu_t, 31, %xpu_active;\n"
				 "\tmov.b64 %xpu_cookie, {%xpu_u, %xpu_x};\n";

static bool keeps(const struct ptx_chosen *c)
{
	return c->keeps && c->body->site == PTX_AT_ENTRY;
}

/* Whether the lowest lane runs the body for the others. One that only makes a cookie, the same in
 * all lanes, is run in all of them: that is less than to part them and to share what one has. */
static bool is_for_lowest(const struct ptx_chosen *c)
{
	return c->body->once_per_warp && !(c->uses & PTX_USES_BELOW) &&
	       (!keeps(c) || c->uses & (PTX_HAS_EFFECTS | PTX_VARIES));
}

/* Whether the other lanes get the lowest one's cookie. */
static bool shares(const struct ptx_chosen *c)
{
	return c->body->once_per_warp && keeps(c) && (is_for_lowest(c) || c->uses & PTX_VARIES);
}

/*
 * Whether the lanes have to meet behind the body. To share a cookie they do so anyway. Where a lane
 * may have ended none may wait for it. Branches that are the same in all lanes do not part them.
 */
static bool has_to_meet(const struct ptx_chosen *c)
{
	bool varies = !(c->uses & PTX_USES_BELOW) || c->uses & (PTX_VARIES | PTX_PARTS);

	if (c->uses & PTX_ENDS_THREADS || shares(c))
		return false;
	return is_for_lowest(c) || (c->uses & PTX_BRANCHES && varies);
}

bool ptx_needs_active(const struct ptx_chosen *c)
{
	uint32_t of_warp = PTX_USES_LANES | PTX_USES_BELOW;

	return is_for_lowest(c) || has_to_meet(c) || shares(c) || c->uses & PTX_USES_LINES ||
	       (c->body->once_per_warp && c->uses & of_warp);
}

void ptx_write_body(struct ptx_splicer *s, const struct ptx_chosen *c, bool last)
{
	const struct ptx_body *body = c->body;
	struct buf *b = &s->out.text;

	if (s->file)
		buf_printf(b, "\t.loc\t%u %u 0\n", s->file, c->number + 1);
	buf_puts(b, "\t{\n");
	if (c->uses & PTX_USES_COOKIE || keeps(c)) {
		buf_puts(b, "\t.reg .b64 %xpu_cookie;\n\tmov.b64 %xpu_cookie, ");
		if (c->keeps && body->site == PTX_AT_EXIT)
			buf_printf(b, "%%xpu_keep%d;\n", body->pair);
		else
			buf_puts(b, "0;\n");
	}
	if (c->uses & PTX_USES_LANES)
		buf_puts(b,
			body->once_per_warp
				? "\t.reg .b32 %xpu_lanes;\n\tpopc.b32 %xpu_lanes, %xpu_active;\n"
				: "\t.reg .b32 %xpu_lanes;\n\tmov.b32 %xpu_lanes, 1;\n");
	if (c->uses & PTX_USES_BELOW)
		buf_puts(b, body->once_per_warp ? below_text : none_below_text);
	if (c->uses & PTX_USES_SITES)
		buf_printf(b, "\t.reg .b64 %%xpu_sites;\n\tmov.b64 %%xpu_sites, %%xpu_sites%u;\n",
			c->number);
	if (is_for_lowest(c))
		buf_puts(b, higher_text);
	buf_puts(b, body->text);
	buf_puts(b, "\nxpu_rest:\n");
	if (has_to_meet(c) && !last)
		buf_puts(b, "\tbar.warp.sync %xpu_active;\n");
	if (shares(c))
		buf_puts(b, share_text);
	if (keeps(c))
		buf_printf(b, "\tmov.b64 %%xpu_keep%d, %%xpu_cookie;\n", body->pair);
	buf_puts(b, "\t}\n");
}

/* Which copy: assemblers that find an address to be the same in all lanes add up first, in ten
 * instructions, what these add to it. */
static void write_copy(struct buf *b, const struct ptx_chosen *c)
{
	buf_puts(b, "\tmov.u32 %xpu_t, %smid;\n");
	if (c->uses & PTX_USES_BELOW && c->body->once_per_warp)
		buf_puts(b, "\tmov.u32 %xpu_u, %lanemask_lt;\n"
			    "\tor.b32 %xpu_t, %xpu_t, %xpu_u;\n");
	buf_printf(b, "\tand.b32 %%xpu_t, %%xpu_t, %u;\n", c->body->site_copies - 1);
	buf_printf(b, "\tmad.wide.u32 %%xpu_sites%u, %%xpu_t, %llu, %%xpu_sites%u;\n", c->number,
		(unsigned long long)c->body->site_stride, c->number);
}

void ptx_write_sites(struct ptx_splicer *s, const struct ptx_chosen *c)
{
	struct buf *b = &s->out.text;

	if (!(c->uses & PTX_USES_SITES))
		return;
	buf_printf(
		b, "\t.reg .b64 %%xpu_sites%u;\n\t{\n\t.reg .b32 %%xpu_t, %%xpu_u;\n", c->number);
	buf_printf(b,
		"\t@!%%xpu_on bra xpu_past;\n\tld.%s.u64 %%xpu_sites%u, [" PTX_WORDS "+16];\n",
		ptx_word_space(s), c->number);
	if (c->body->site_copies > 1)
		write_copy(b, c);
	buf_puts(b, "xpu_past:\n\t}\n");
}

static void restore_line(struct ptx_splicer *s)
{
	if (!s->file || !s->loc.size)
		return;
	buf_putc(&s->out.text, '\t');
	write_text(&s->out.text, s->loc);
	buf_putc(&s->out.text, '\n');
}

unsigned int ptx_count_fitting(
	const struct ptx_splicer *s, const struct ptx_site_at *at, uint32_t *uses)
{
	unsigned int count = 0;

	*uses = 0;
	vec_foreach (c, &s->chosen)
		if (ptx_body_fits(c->body, at->site, at->memory)) {
			count++;
			*uses |= c->uses;
			if (ptx_needs_active(c))
				*uses |= PTX_USES_ACTIVE;
		}
	return count;
}

static void write_line(struct ptx_splicer *s, const struct ptx_site_at *at)
{
	buf_putc(&s->out.text, '\n');
	if (!s->file)
		return;
	vec_foreach (c, &s->chosen)
		if (ptx_body_fits(c->body, at->site, at->memory)) {
			buf_printf(&s->out.text, "\t.loc\t%u %u 0\n", s->file, c->number + 1);
			return;
		}
}

static void write_bodies(struct ptx_splicer *s, const struct ptx_site_at *at)
{
	const struct ptx_chosen *last = NULL;
	bool ends = at->site == PTX_AT_EXIT && !at->statement;

	vec_foreach (c, &s->chosen)
		if (ptx_body_fits(c->body, at->site, at->memory))
			last = c;
	vec_foreach (c, &s->chosen)
		if (ptx_body_fits(c->body, at->site, at->memory))
			ptx_write_body(s, c, c == last && ends);
}

/* Whether all lanes that come to an access make it, in global memory. */
static bool is_of_all(const struct ptx_site_at *at)
{
	return !at->statement->predicate.size && !at->memory->generic;
}

/* `test`: what leaves out lanes whose bodies do not run. */
static void write_site(
	struct ptx_splicer *s, const struct ptx_site_at *at, uint32_t uses, const char *test)
{
	struct buf *b = &s->out.text;

	buf_puts(b, "\t{\n\t.reg .pred %xpu_p;\n\t.reg .b32 %xpu_t, %xpu_u, %xpu_x;\n"
		    "\t.reg .b64 %xpu_v;\n");
	if (at->statement)
		write_predicate(b, at->statement);
	buf_puts(b, test);
	if (at->memory)
		write_memory(b, at, uses);
	if (uses & PTX_USES_ARENA)
		buf_printf(b,
			"\t.reg .b64 %%xpu_arena;\n\tld.%s.u64 %%xpu_arena, [" PTX_WORDS "];\n",
			ptx_word_space(s));
	s->out.numbers_sites |= (uses & PTX_USES_SITES) != 0;
	write_kernel(s, uses);
	if (uses & PTX_USES_ACTIVE)
		buf_puts(b, ptx_active_text);
	if (uses & PTX_USES_LINES && at->memory)
		buf_puts(b, ptx_lines_text);
	write_bodies(s, at);
	buf_puts(b, "xpu_past:\n\t}\n");
}

unsigned int ptx_write_site(struct ptx_splicer *s, const struct ptx_site_at *at)
{
	uint32_t uses;
	unsigned int count = ptx_count_fitting(s, at, &uses);

	if (!count)
		return 0;
	write_line(s, at);
	write_site(s, at, uses, "\t@!%xpu_on bra xpu_past;\n");
	restore_line(s);
	return count;
}

void ptx_write_sites_together(
	struct ptx_splicer *s, const struct ptx_deferred_site *sites, uint32_t count)
{
	uint32_t uses[PTX_DEFERRED_MOST], shared = 0;

	write_line(s, &sites->at);
	buf_puts(&s->out.text, "\t{\n\t@!%xpu_on bra xpu_off;\n");
	for (uint32_t i = 0; i < count; i++) {
		uses[i] = sites[i].uses;
		if (!is_of_all(&sites[i].at))
			continue;
		shared |= uses[i];
		uses[i] &= ~(uint32_t)PTX_USES_ACTIVE;
	}
	if (shared & PTX_USES_ACTIVE)
		buf_puts(&s->out.text, ptx_active_text);
	for (uint32_t i = 0; i < count; i++)
		write_site(s, &sites[i].at, uses[i], "");
	buf_puts(&s->out.text, "xpu_off:\n\t}\n");
	restore_line(s);
}
