// SPDX-License-Identifier: MIT
/*
 * Ways out of a kernel. Each has the exit bodies before a `ret` of its own, also a branch to a
 * label with nothing but a `ret` behind it, as compilers write "if (i >= n) return;".
 *
 * They must not lead to one common exit. Assemblers let the lanes of a warp meet again where ways
 * meet, but for a bare `ret`: lanes that leave early would wait at a common exit for the others of
 * their warp. Those may stand at a barrier, which waits for all lanes that have not left.
 *
 * One case is left, where a single way out is also the only one out of a loop: lanes of a warp that
 * leave the loop one after another, straight to the end of the kernel, wait for the last of them
 * before the exit bodies. With a barrier in such a loop the others would wait for them.
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

int ptx_find_labels(struct ptx_splicer *s)
{
	size_t open = 0; /* the first of the labels that the next instruction is behind */

	s->labels.count = 0;
	vec_foreach (i, &s->statements) {
		struct ptx_label label = {.name = {i->op.text, i->op.size}};

		if (i->kind == PTX_LABEL && vec_push(&s->labels, label))
			return -ENOMEM;
		for (; i->kind == PTX_INSTRUCTION && open < s->labels.count; open++)
			s->labels.items[open].leaves = is_return(i) && !i->predicate.size;
	}
	for (; open < s->labels.count; open++)
		s->labels.items[open].leaves = true; /* the end of the body */
	if (s->labels.count)
		qsort(s->labels.items, s->labels.count, sizeof(struct ptx_label), by_name);
	return 0;
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
