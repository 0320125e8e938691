// SPDX-License-Identifier: MIT
/*
 * Sites of loads are put off. An assembler moves no load across bodies: in front of each load they
 * would keep the next from starting while it is under way. So those of a straight piece of code
 * stand together behind the last of its loads, where their threads would wait for memory anyway.
 *
 * Nothing is told apart by that: the same lanes come to all of a straight piece. It ends where
 * lanes may wait or part, and at each access whose bodies cannot be put off: what is not a plain
 * load, and where a body may end threads. What a later instruction may overwrite, the address and
 * the predicate, is kept in registers of our own.
 */
#include "ptx/splice_internal.h"

#define NAME(n)                                                                                    \
	{                                                                                          \
		"%xpu_at" #n, "%xpu_if" #n                                                         \
	}

static const struct {
	const char *address, *predicate;
} kept[PTX_DEFERRED_MOST] = {
	NAME(0), NAME(1), NAME(2), NAME(3), NAME(4), NAME(5), NAME(6), NAME(7)};

static struct ptx_text text_of(const char *name)
{
	return (struct ptx_text){name, strlen(name)};
}

static bool has_loads(const struct ptx_splicer *s)
{
	vec_foreach (c, &s->chosen)
		if (c->body->site == PTX_AT_LOAD || c->body->site == PTX_AT_ACCESS)
			return true;
	return false;
}

void ptx_write_kept(struct ptx_splicer *s)
{
	_Static_assert(PTX_DEFERRED_MOST == 8, "as the text has it");

	s->deferred.count = 0;
	if (has_loads(s))
		buf_puts(&s->out.text, "\t.reg .b64 %xpu_at<8>;\n\t.reg .pred %xpu_if<8>;\n");
}

#define LETTER(c) (1u << ((c) - 'a'))

/* By its first two letters, which most instructions do not have. */
static bool may_end_piece(const struct ptx_token *op)
{
	static const uint32_t second[26] = {
		['a' - 'a'] = LETTER('c'),
		['b' - 'a'] = LETTER('a') | LETTER('r'),
		['c' - 'a'] = LETTER('a'),
		['e' - 'a'] = LETTER('l') | LETTER('x'),
		['f' - 'a'] = LETTER('e'),
		['g' - 'a'] = LETTER('r'),
		['m' - 'a'] = LETTER('a') | LETTER('b') | LETTER('e'),
		['n' - 'a'] = LETTER('a'),
		['r' - 'a'] = LETTER('e'),
		['s' - 'a'] = LETTER('e') | LETTER('h'),
		['t' - 'a'] = LETTER('r'),
		['v' - 'a'] = LETTER('o'),
	};
	unsigned char first = (unsigned char)(op->text[0] - 'a'), then;

	if (op->size < 2 || first >= 26)
		return false;
	then = (unsigned char)(op->text[1] - 'a');
	return then < 26 && second[first] >> then & 1;
}

bool ptx_ends_piece(const struct ptx_statement *i)
{
	static const char *const names[] = {"bra", "brx", "ret", "exit", "call", "trap", "brkpt",
		"activemask", "fence", "membar", "mbarrier", "nanosleep", "griddepcontrol",
		"setmaxnreg"};

	if (i->kind != PTX_INSTRUCTION)
		return i->kind != PTX_LINE;
	if (!may_end_piece(&i->op))
		return false;
	for (size_t n = 0; n < sizeof(names) / sizeof(*names); n++)
		if (ptx_is_op(&i->op, names[n]))
			return true;
	return ptx_waits(i);
}

void ptx_write_deferred(struct ptx_splicer *s, const char **from)
{
	struct ptx_deferred *d = &s->deferred;
	struct ptx_text loc = s->loc;
	uint32_t count = d->count;

	if (!count)
		return;
	d->count = 0;
	ptx_copy(s, from, d->behind);
	s->loc = d->loc;
	if (count > 1)
		ptx_write_sites_together(s, d->sites, count);
	else
		ptx_write_site(s, &d->sites->at);
	s->loc = loc;
}

/* Moves what stands at *at to a register of ours, and lets it stand for that. */
static void move(struct buf *b, const char *mov, const char *to, struct ptx_text *at)
{
	struct ptx_text from = *at;

	*at = text_of(to);
	buf_puts(b, mov);
	buf_append(b, at->at, at->size);
	buf_append(b, ", ", 2);
	buf_append(b, from.at, from.size);
	buf_append(b, ";\n", 2);
}

/* Keeps the address, if bodies need it, and who accesses it, for later. */
static void keep(struct ptx_splicer *s, struct ptx_deferred_site *d, uint32_t n)
{
	if (ptx_needs_address(&d->memory, d->uses))
		move(&s->out.text, "\n\tmov.u64 ", kept[n].address, &d->memory.base);
	if (d->statement.predicate.size)
		move(&s->out.text, "\n\tmov.pred ", kept[n].predicate, &d->statement.predicate);
}

bool ptx_defer(struct ptx_splicer *s, const char **from, const struct ptx_site_at *at)
{
	struct ptx_deferred *d = &s->deferred;
	struct ptx_deferred_site *site;
	uint32_t uses;

	if (at->memory->kind != PTX_READS || !ptx_count_fitting(s, at, &uses) ||
		uses & PTX_ENDS_THREADS)
		return false;
	if (d->count == PTX_DEFERRED_MOST)
		ptx_write_deferred(s, from);
	ptx_copy(s, from, at->statement->start);
	site = &d->sites[d->count];
	*site = (struct ptx_deferred_site){*at, *at->memory, *at->statement, uses};
	site->at.memory = &site->memory;
	site->at.statement = &site->statement;
	keep(s, site, d->count++);
	d->behind = at->statement->end;
	d->loc = s->loc;
	return true;
}
