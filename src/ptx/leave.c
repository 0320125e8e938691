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
 * known in front of it which lanes leave (an indirect branch) there are no bodies. Where more is
 * between the loop and the end, lanes may wait for the others there without any probes.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/search.h"
#include "ptx/splice_internal.h"

static int compare(const struct ptx_text *a, const struct ptx_text *b)
{
	int order = memcmp(a->at, b->at, a->size < b->size ? a->size : b->size);

	return order ? order : (a->size > b->size) - (a->size < b->size);
}

static int by_name(const void *a, const void *b)
{
	return compare(&((const struct ptx_label *)a)->name, &((const struct ptx_label *)b)->name);
}

static bool is_return(const struct ptx_statement *i)
{
	return ptx_is_op(&i->op, "ret") || ptx_is(&i->op, "exit");
}

bool ptx_waits(const struct ptx_statement *i)
{
	static const char *const names[] = {
		"bar", "barrier", "vote", "shfl", "match", "redux", "elect"};

	for (size_t n = 0; i->kind == PTX_INSTRUCTION && n < sizeof(names) / sizeof(*names); n++)
		if (ptx_is_op(&i->op, names[n]))
			return true;
	return false;
}

/* The first statement of all of these that have the label; `first` where that is before. */
static size_t first_at(const struct ptx_splicer *s, struct ptx_token label, size_t first)
{
	const struct ptx_label *labels = s->labels.items;
	struct ptx_text name = {label.text, label.size};
	size_t next = search_first(n, 0, s->labels.count, compare(&labels[n].name, &name) >= 0);

	for (; next < s->labels.count && !compare(&labels[next].name, &name); next++)
		first = labels[next].at < first ? labels[next].at : first;
	return first;
}

/* "brx.idx %r, Table;", and somewhere before "Table: .branchtargets A, B;". */
static size_t first_of_table(const struct ptx_splicer *s, struct ptx_lexer operands, size_t at)
{
	const char *end = s->kernel->body.at + s->kernel->body.size;
	const struct ptx_statement *table;
	struct ptx_lexer l;
	struct ptx_token t;
	size_t first = at;

	ptx_lex(&operands);
	if (!ptx_take_mark(&operands, ','))
		return 0;
	table = &s->statements.items[first_at(s, ptx_lex(&operands), at)];
	l = ptx_lexer_of(table->op.text, (size_t)(end - table->op.text));
	ptx_lex(&l);
	if (!ptx_take_mark(&l, ':') || (t = ptx_lex(&l), !ptx_is(&t, ".branchtargets")))
		return 0;
	do
		first = first_at(s, ptx_lex(&l), first);
	while (ptx_take_mark(&l, ','));
	return first;
}

/* The first statement that it may lead back to; its own: it leads on. */
static size_t leads_back_to(const struct ptx_splicer *s, const struct ptx_statement *i)
{
	size_t at = (size_t)(i - s->statements.items);

	if (i->kind != PTX_INSTRUCTION)
		return at;
	if (ptx_is_op(&i->op, "brx"))
		return first_of_table(s, i->operands, at);
	return ptx_is_op(&i->op, "bra") ? first_at(s, ptx_peek(&i->operands), at) : at;
}

/* A loop is what stands between a label and a branch back to it. */
static int find_waiting_loops(struct ptx_splicer *s)
{
	size_t count = s->statements.count;
	int32_t *in;
	size_t *waits = calloc(count + 1, sizeof(*waits)); /* how many are before it */

	s->in_waiting_loop.count = 0;
	if (!waits || vec_reserve(&s->in_waiting_loop, count + 1)) {
		free(waits);
		return -ENOMEM;
	}
	in = s->in_waiting_loop.items;
	memset(in, 0, (count + 1) * sizeof(*in));
	for (size_t n = 0; n < count; n++) {
		const struct ptx_statement *i = &s->statements.items[n];
		size_t first = leads_back_to(s, i);

		waits[n + 1] = waits[n] +
			       (ptx_waits(i) || (s->functions_wait && i->kind == PTX_INSTRUCTION &&
							ptx_is_op(&i->op, "call")));
		if (first == n || waits[first] == waits[n])
			continue;
		in[first]++;
		in[n + 1]--;
	}
	for (size_t n = 1; n <= count; n++)
		in[n] += in[n - 1];
	s->in_waiting_loop.count = count + 1;
	free(waits);
	return 0;
}

int ptx_find_labels(struct ptx_splicer *s)
{
	size_t open = 0; /* the first of the labels that the next instruction is behind */

	s->labels.count = 0;
	vec_foreach (i, &s->statements) {
		struct ptx_label label = {
			.name = {i->op.text, i->op.size}, .at = (size_t)(i - s->statements.items)};

		if (i->kind == PTX_LABEL && vec_push(&s->labels, label))
			return -ENOMEM;
		for (; i->kind == PTX_INSTRUCTION && open < s->labels.count; open++)
			s->labels.items[open].leaves = is_return(i) && !i->predicate.size;
	}
	for (; open < s->labels.count; open++)
		s->labels.items[open].leaves = true; /* the end of the body */
	if (s->labels.count)
		qsort(s->labels.items, s->labels.count, sizeof(struct ptx_label), by_name);
	return find_waiting_loops(s);
}

/* Scopes may each have a label of this name: then all of them. */
static bool label_leaves(const struct ptx_splicer *s, struct ptx_text name)
{
	const struct ptx_label *labels = s->labels.items;
	size_t first = search_first(n, 0, s->labels.count, compare(&labels[n].name, &name) >= 0);
	size_t at = first;

	while (at < s->labels.count && !compare(&labels[at].name, &name) && labels[at].leaves)
		at++;
	return at > first && (at == s->labels.count || compare(&labels[at].name, &name));
}

bool ptx_leaves(const struct ptx_splicer *s, const struct ptx_statement *i)
{
	struct ptx_token label;

	if (is_return(i))
		return true;
	if (!ptx_is_op(&i->op, "bra"))
		return false;
	label = ptx_peek(&i->operands);
	return label.kind == PTX_WORD && label_leaves(s, (struct ptx_text){label.text, label.size});
}

static bool is_in_waiting_loop(const struct ptx_splicer *s, const struct ptx_statement *i)
{
	return s->in_waiting_loop.items[i - s->statements.items];
}

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

	return is_in_waiting_loop(s, i) || (before && is_in_waiting_loop(s, before));
}

bool ptx_ends_waiting_loop(const struct ptx_splicer *s, const struct ptx_statement *i)
{
	const struct ptx_statement *next = i + 1;

	if (!ptx_is_op(&i->op, "bra") || !i->predicate.size || !is_in_waiting_loop(s, i))
		return false;
	while (next->kind == PTX_LABEL || next->kind == PTX_LINE)
		next++;
	if (is_in_waiting_loop(s, next))
		return false;
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

/* Whether no lane comes from in front of it that has not had its bodies there. */
static bool is_behind_bodies(const struct ptx_splicer *s, const struct ptx_statement *i)
{
	const struct ptx_statement *before = instruction_before(s, i);

	return !is_in_waiting_loop(s, i) && ptx_is_op(&before->op, "bra") &&
	       (!before->predicate.size || ptx_ends_waiting_loop(s, before));
}

bool ptx_write_bare_leave(struct ptx_splicer *s, const char **from, const struct ptx_statement *i)
{
	struct buf *b = &s->out.text;
	bool is_known = i->predicate.size && is_in_waiting_loop(s, i);

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
