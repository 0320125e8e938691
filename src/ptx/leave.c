// SPDX-License-Identifier: MIT
/*
 * Ways out of a kernel. Each has the exit bodies before a `ret` of its own, also a branch to a
 * label with nothing but a `ret` behind it, as compilers write "if (i >= n) return;".
 *
 * They must not lead to one common exit. Assemblers let the lanes of a warp meet again where ways
 * meet, but for a bare `ret`: lanes that leave early would wait at a common exit for the others of
 * their warp. Those may stand at a barrier, which waits for all lanes that have not left.
 *
 * Where lanes of a warp leave a loop one after another, straight to the end of the kernel, and the
 * others wait in that loop for all that have not left (a barrier, a vote), assemblers do have them
 * meet behind the loop, if there is anything to do (seen with ptxas 13.0 for sm_75 and sm_90): all
 * would wait for ever. There the bodies stand in front of the branch, in the loop, where lanes that
 * stay wait no longer than the bodies take, and behind it is nothing but a `ret`. Where it is not
 * known in front of it which lanes leave (an indirect branch; a condition of its own right behind
 * the loop) there are no bodies. Where more is between the loop and the end, lanes may wait for the
 * others there without any probes.
 */
#include "ptx/splice_internal.h"

/* The instruction in front of a statement; NULL: there is none. */
static const struct ptx_statement *instruction_before(
	const struct ptx_splicer *s, const struct ptx_statement *i)
{
	while (i > s->statements.items)
		if ((--i)->kind == PTX_INSTRUCTION)
			return i;
	return NULL;
}

bool ptx_leaves_waiting_loop(const struct ptx_splicer *s, const struct ptx_statement *i)
{
	const struct ptx_statement *before = instruction_before(s, i);

	if (ptx_is_in_waiting_loop(s, i) || ptx_is_entered(s, i, true))
		return true;
	return before && ptx_is_in_waiting_loop(s, before) &&
	       !(ptx_goes_elsewhere(before) && ptx_is_entered(s, i, false));
}

bool ptx_ends_waiting_loop(const struct ptx_splicer *s, const struct ptx_statement *i)
{
	const struct ptx_statement *next = i + 1;

	if (!ptx_is_op(&i->op, "bra") || !i->predicate.size || !ptx_is_in_waiting_loop(s, i))
		return false;
	while (next->kind == PTX_LABEL || next->kind == PTX_LINE)
		next++;
	return next->kind == PTX_BODY_END ||
	       (next->kind == PTX_INSTRUCTION && !next->predicate.size && ptx_leaves(s, next));
}

/* The exit bodies for lanes where the predicate holds. */
static void write_in_front(struct ptx_splicer *s, const struct ptx_statement *leaving)
{
	ptx_write_site(s, &(struct ptx_site_at){.site = PTX_AT_EXIT, .statement = leaving});
}

void ptx_write_end_of_loop(struct ptx_splicer *s, const char **from, const struct ptx_statement *i)
{
	struct ptx_statement leaving = *i;

	leaving.negated = !i->negated;
	ptx_copy(s, from, i->start);
	write_in_front(s, &leaving);
}

/* Whether no lane comes to it that has not had its bodies in front. */
static bool is_behind_bodies(const struct ptx_splicer *s, const struct ptx_statement *i)
{
	const struct ptx_statement *before = instruction_before(s, i);

	return before && (ptx_goes_elsewhere(before) || ptx_ends_waiting_loop(s, before)) &&
	       !ptx_is_entered(s, i, false);
}

bool ptx_write_bare_leave(struct ptx_splicer *s, const char **from, const struct ptx_statement *i)
{
	struct buf *b = &s->out.text;
	bool is_known = i->predicate.size && ptx_is_in_waiting_loop(s, i);

	ptx_copy(s, from, i->start);
	if (i->kind == PTX_BODY_END)
		return is_behind_bodies(s, i);
	if (is_known)
		write_in_front(s, i);
	*from = i->end;
	if (i->predicate.size) {
		buf_puts(b, i->negated ? "@!" : "@");
		buf_append(b, i->predicate.at, i->predicate.size);
		buf_putc(b, ' ');
	}
	buf_puts(b, "ret;");
	return is_known || is_behind_bodies(s, i);
}

static void write_exit(struct ptx_splicer *s)
{
	ptx_write_site(s, &(struct ptx_site_at){.site = PTX_AT_EXIT});
	buf_puts(&s->out.text, "\tret;\n");
}

void ptx_write_leave(struct ptx_splicer *s, const char **from, const struct ptx_statement *i)
{
	struct buf *b = &s->out.text;

	ptx_copy(s, from, i->start);
	*from = i->end;
	if (!i->predicate.size) {
		write_exit(s);
		return;
	}
	buf_puts(b, i->negated ? "{\n\t@" : "{\n\t@!");
	buf_append(b, i->predicate.at, i->predicate.size);
	buf_puts(b, " bra xpu_stay;\n");
	write_exit(s);
	buf_puts(b, "xpu_stay:\n\t}");
}

void ptx_write_last_leave(struct ptx_splicer *s)
{
	s->loc.size = 0;
	write_exit(s);
}
