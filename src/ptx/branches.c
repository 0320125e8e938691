// SPDX-License-Identifier: MIT
/*
 * Where the branches of a kernel lead: which leave it, and in which loops lanes wait for others.
 *
 * A branch leaves where nothing but a `ret` is behind its label, perhaps by way of other labels, as
 * compilers write without optimization. All these are replaced (leave.c): such a label is then
 * entered only by what is not known to leave, an indirect branch or one that leads back.
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

/* Those of one name in their order in the text. */
static int by_name(const void *a, const void *b)
{
	const struct ptx_label *x = a, *y = b;
	int order = compare(&x->name, &y->name);

	return order ? order : (x->at > y->at) - (x->at < y->at);
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

/* Labels of a name: each scope may have one. */
struct namesakes {
	struct ptx_label *from, *to;
};

static struct namesakes labels_of(const struct ptx_splicer *s, struct ptx_token name)
{
	struct ptx_label *labels = s->labels.items;
	struct ptx_text text = {name.text, name.size};
	size_t first = search_first(n, 0, s->labels.count, compare(&labels[n].name, &text) >= 0);
	size_t end = search_first(n, first, s->labels.count, compare(&labels[n].name, &text) > 0);

	return (struct namesakes){labels + first, labels + end};
}

/* In front of the labels that it may lead to, a list; false where they are not known.
 * "brx.idx %r, Table;", and somewhere before "Table: .branchtargets A, B;". */
static bool find_targets(
	const struct ptx_splicer *s, const struct ptx_statement *i, struct ptx_lexer *ret)
{
	const char *end = s->kernel->body.at + s->kernel->body.size;
	struct namesakes table;
	struct ptx_token t;

	*ret = i->operands;
	if (ptx_is_op(&i->op, "bra"))
		return true;
	ptx_lex(ret);
	if (!ptx_take_mark(ret, ','))
		return false;
	table = labels_of(s, ptx_lex(ret));
	if (table.to - table.from != 1)
		return false;
	*ret = ptx_lexer_of(table.from->name.at, (size_t)(end - table.from->name.at));
	ptx_lex(ret);
	return ptx_take_mark(ret, ':') && (t = ptx_lex(ret), ptx_is(&t, ".branchtargets"));
}

static bool is_branch(const struct ptx_statement *i)
{
	return i->kind == PTX_INSTRUCTION && (ptx_is_op(&i->op, "bra") || ptx_is_op(&i->op, "brx"));
}

/* Whether it is a branch that is still one afterwards. */
static bool stays(const struct ptx_splicer *s, const struct ptx_statement *i)
{
	return is_branch(i) && !ptx_leaves(s, i);
}

/* The first statement that it may lead back to; its own: it leads on. */
static size_t leads_back_to(const struct ptx_splicer *s, const struct ptx_statement *i)
{
	size_t first = (size_t)(i - s->statements.items);
	struct ptx_lexer l;

	if (!stays(s, i))
		return first;
	if (!find_targets(s, i, &l))
		return 0;
	do {
		struct namesakes n = labels_of(s, ptx_lex(&l));

		if (n.from < n.to && n.from->at < first)
			first = n.from->at;
	} while (ptx_take_mark(&l, ','));
	return first;
}

static bool waits(const struct ptx_splicer *s, const struct ptx_statement *i)
{
	return ptx_waits(i) ||
	       (s->functions_wait && i->kind == PTX_INSTRUCTION && ptx_is_op(&i->op, "call"));
}

bool ptx_goes_elsewhere(const struct ptx_statement *i)
{
	return i->kind == PTX_INSTRUCTION && !i->predicate.size && (is_branch(i) || is_return(i));
}

/* Whether it leads to one of these statements behind it, or back. */
static bool leads_to(const struct ptx_splicer *s, size_t from, const int32_t *in, size_t end)
{
	const struct ptx_statement *i = &s->statements.items[from];
	struct ptx_lexer l;

	if (from + 1 < end && in[from + 1] && !ptx_goes_elsewhere(i))
		return true;
	if (!stays(s, i))
		return false;
	if (!find_targets(s, i, &l))
		return true;
	do {
		struct namesakes n = labels_of(s, ptx_lex(&l));

		for (; n.from < n.to && n.from->at < end; n.from++)
			if (n.from->at < from || in[n.from->at])
				return true;
	} while (ptx_take_mark(&l, ','));
	return false;
}

/* Of statements that loops have: what leads back, if lanes wait there. */
static void find_waiting_loop(const struct ptx_splicer *s, int32_t *in, size_t begin, size_t end)
{
	bool any = false;

	for (size_t n = end; n-- > begin;) {
		in[n] = leads_to(s, n, in, end);
		any |= in[n] && waits(s, &s->statements.items[n]);
	}
	if (!any)
		memset(in + begin, 0, (end - begin) * sizeof(*in));
}

/*
 * A loop is what stands between a label and a branch back to it. Where two overlap, lanes may go
 * from one to the other: they are taken for one.
 */
static int find_waiting_loops(struct ptx_splicer *s)
{
	size_t count = s->statements.count, begin = 0;
	int32_t *in;

	s->in_waiting_loop.count = 0;
	if (vec_reserve(&s->in_waiting_loop, count))
		return -ENOMEM;
	s->in_waiting_loop.count = count;
	in = s->in_waiting_loop.items;
	memset(in, 0, count * sizeof(*in));
	for (size_t n = 0; n < count; n++) {
		in[leads_back_to(s, &s->statements.items[n])]++;
		in[n]--;
	}
	/* How many loops have both this statement and the next. */
	for (size_t n = 1; n < count; n++)
		in[n] += in[n - 1];
	for (size_t n = 0; n < count; n++)
		if (!in[n]) {
			find_waiting_loop(s, in, begin, n + 1);
			begin = n + 1;
		}
	return 0;
}

bool ptx_is_in_waiting_loop(const struct ptx_splicer *s, const struct ptx_statement *i)
{
	return s->in_waiting_loop.items[i - s->statements.items];
}

/* Behind which labels nothing but a return is, from the last on: most branches lead on. */
static void find_leaving_labels(struct ptx_splicer *s)
{
	bool leaves = true; /* the end of the body */

	for (size_t n = s->statements.count - 1; n-- > 0;) {
		const struct ptx_statement *i = &s->statements.items[n];
		struct namesakes l;

		if (i->kind == PTX_INSTRUCTION)
			leaves = !i->predicate.size && ptx_leaves(s, i);
		if (i->kind != PTX_LABEL)
			continue;
		l = labels_of(s, i->op);
		l.from += search_first(k, 0, (size_t)(l.to - l.from), l.from[k].at >= n);
		l.from->leaves = leaves;
	}
}

/* To which labels lanes come by branches that stay in the text; the first of a name for all. */
static void find_entered_labels(struct ptx_splicer *s)
{
	vec_foreach (i, &s->statements) {
		struct namesakes n = {s->labels.items, s->labels.items + s->labels.count};
		bool known;
		struct ptx_lexer l;

		if (!stays(s, i))
			continue;
		known = find_targets(s, i, &l);
		do {
			if (known) {
				n = labels_of(s, ptx_lex(&l));
				n.to = n.from + (n.from < n.to);
			}
			for (; n.from < n.to; n.from++) {
				n.from->entered = true;
				n.from->entered_from_waiting_loop |= ptx_is_in_waiting_loop(s, i);
			}
		} while (known && ptx_take_mark(&l, ','));
	}
}

int ptx_find_labels(struct ptx_splicer *s)
{
	int error;

	s->labels.count = 0;
	vec_foreach (i, &s->statements) {
		struct ptx_label label = {
			.name = {i->op.text, i->op.size}, .at = (size_t)(i - s->statements.items)};

		if (i->kind == PTX_LABEL && vec_push(&s->labels, label))
			return -ENOMEM;
	}
	if (s->labels.count)
		qsort(s->labels.items, s->labels.count, sizeof(struct ptx_label), by_name);
	find_leaving_labels(s);
	error = find_waiting_loops(s);
	if (!error)
		find_entered_labels(s);
	return error;
}

/* Scopes may each have a label of this name: then all of them. */
static bool label_leaves(const struct ptx_splicer *s, struct ptx_token name)
{
	struct namesakes n = labels_of(s, name);
	const struct ptx_label *at = n.from;

	while (at < n.to && at->leaves)
		at++;
	return at > n.from && at == n.to;
}

bool ptx_leaves(const struct ptx_splicer *s, const struct ptx_statement *i)
{
	struct ptx_token label;

	if (is_return(i))
		return true;
	if (!ptx_is_op(&i->op, "bra"))
		return false;
	label = ptx_peek(&i->operands);
	return label.kind == PTX_WORD && label_leaves(s, label);
}

bool ptx_is_entered(
	const struct ptx_splicer *s, const struct ptx_statement *i, bool from_waiting_loop)
{
	while (i > s->statements.items && (--i)->kind != PTX_INSTRUCTION) {
		const struct ptx_label *l = i->kind == PTX_LABEL ? labels_of(s, i->op).from : NULL;

		if (l && (from_waiting_loop ? l->entered_from_waiting_loop : l->entered))
			return true;
	}
	return false;
}
